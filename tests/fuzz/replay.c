/* M16: drives a fuzz target over files: the corpus that our encoders wrote
 * (tests/tools/corpus_*.c) is replayed as an ordinary test. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int replay_file(const char *name)
{
	FILE *f = fopen(name, "rbe");
	uint8_t *data = malloc(1 << 20);
	size_t len;

	if (!f || !data) {
		perror(name);
		return -1;
	}
	len = fread(data, 1, 1 << 20, f);
	fclose(f);
	/* an exact-size copy lets AddressSanitizer see an overread */
	uint8_t *exact = malloc(len ? len : 1);
	if (!exact)
		return -1;
	for (size_t i = 0; i < len; i++)
		exact[i] = data[i];
	LLVMFuzzerTestOneInput(exact, len);
	free(exact);
	free(data);
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
