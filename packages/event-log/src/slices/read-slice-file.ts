import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import { InvalidSlice, readSlice } from '@runledger/contracts/slices/read-slice';
import type { SliceFact, SliceGap, SliceHeader } from '@runledger/contracts/slices/slice';

/** What the decompression says of a file that ends too early. */
const CUT_OFF = 'Z_BUF_ERROR';

/** The lines of a slice but its end, as `readSlice` gives them. @throws {InvalidSlice} */
export const readSliceFile = (path: string): AsyncGenerator<SliceHeader | SliceFact | SliceGap> =>
  readSlice(path, decompressed(path));

async function* decompressed(path: string): AsyncGenerator<Uint8Array> {
  const stream = createZstdDecompress();
  // An error of the file or of the compression ends the loop below with that error.
  pipeline(createReadStream(path), stream, () => undefined);
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === CUT_OFF)
      throw new InvalidSlice(`${path} is not whole: its writer was stopped. Capture it again.`, {
        cause: error,
      });
    throw error;
  } finally {
    stream.destroy();
  }
}
