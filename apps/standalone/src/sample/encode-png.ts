import { crc32, deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const BYTES_A_PIXEL = 3;
const [BITS, RGB] = [8, 2];
/** Each byte as its difference to the byte above: neighbouring rows are alike. */
const FILTER_UP = 2;

/**
 * A PNG file (https://www.w3.org/TR/png-3/) of a square picture with `size` rows. `pixels` has three bytes for each pixel, row by row.
 * Without a package, so that the sample runs wherever Node does.
 */
export const encodePng = (size: number, pixels: Buffer): Buffer => {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header[8] = BITS;
  header[9] = RGB;
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(filtered(size, pixels))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
};

const filtered = (size: number, pixels: Buffer): Buffer => {
  const width = size * BYTES_A_PIXEL;
  const rows = Buffer.alloc(size * (width + 1));
  for (let row = 0; row < size; row += 1) {
    const at = row * (width + 1);
    rows[at] = FILTER_UP;
    for (let column = 0; column < width; column += 1) {
      const from = row * width + column;
      // A buffer keeps the lowest byte. Above the first row there are zeros.
      rows[at + 1 + column] = (pixels[from] ?? 0) - (pixels[from - width] ?? 0);
    }
  }
  return rows;
};

/** Its length, its type and content, and the check of both. */
const chunk = (type: string, content: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
};
