/* M16: drives a fuzz target over files: the corpus that our encoders wrote
 * (tests/tools/corpus_*.c) is replayed as an ordinary test. */
#include "base/alloc.h"
#include "base/cleanup.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define INPUT_MAX_LEN ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int replay_file(const char *name)
{
	FILE *f = fopen(name, "rbe");
	autofree uint8_t *data = alloc_array(INPUT_MAX_LEN, 1);
	autofree uint8_t *exact = NULL;
	size_t len;

	if (!f) {
		perror(name);
		return -1;
	}
	len = fread(data, 1, INPUT_MAX_LEN, f);
	fclose(f);
	/* an exact-size copy lets AddressSanitizer see an overread */
	exact = alloc_array(len ? len : 1, 1);
	memcpy(exact, data, len);
	LLVMFuzzerTestOneInput(exact, len);
	return 0;
}

int main(int argc, char *argv[])
{
	for (int i = 1; i < argc; i++) {
		if (replay_file(argv[i]) != 0)
			return 1;
	}
	printf("replayed %d inputs\n", argc - 1);
	return argc > 1 ? 0 : 1;
}
