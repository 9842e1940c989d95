#include "desktop/jpeg.h"
#include "base/cleanup.h"

#include <turbojpeg.h>

int jpeg_encode(const uint8_t *rgb, struct coords_size size,
		const struct jpeg_how *how, struct buf *out, struct err *e)
{
	tjhandle tj = tjInitCompress();
	unsigned char *jpeg = NULL; /* tjFree() */
	unsigned long len = 0;
	int rc;

	if (!tj)
		return err_set(e, ERR_INTERNAL, "libjpeg-turbo: %s",
			       tjGetErrorStr2(NULL));
	rc = tjCompress2(tj, rgb, (int)size.width_px, 0, (int)size.height_px,
			 TJPF_RGB, &jpeg, &len,
			 how->small ? TJSAMP_420 : TJSAMP_444, how->quality,
			 TJFLAG_FASTDCT);
	rc = rc == 0 ? buf_add(out, jpeg, len, e)
		     : err_set(e, ERR_INTERNAL, "libjpeg-turbo: %s",
			       tjGetErrorStr2(tj));
	tjFree(jpeg);
	tjDestroy(tj);
	return rc;
}
