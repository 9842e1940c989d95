/*
 * tables.h - this layer's tables in boxery.db
 *
 *	vm_grant	what each VM may use (store.h)
 *	vm_token	the hash of each VM's token (token.h)
 *	approval	requests that wait for a person (approval.h)
 *
 * Shapes:  each text is one step of the schema. The program that opens the
 *          database puts them into its own list for db_open(), where steps
 *          are only ever appended:
 *
 *		const char *const registry_migrations[] = {
 *			"CREATE TABLE vm (…)",
 *			tables_grants_1,
 *			NULL,
 *		};
 *
 *          They name no other layer's tables. A VM's rows go when its owner
 *          says so: store_forget_vm(), token_revoke(), approval_forget_vm().
 * Threads: constants.
 */
#ifndef GRANTS_TABLES_H
#define GRANTS_TABLES_H

extern const char tables_grants_1[];

#endif
