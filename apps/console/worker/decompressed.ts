import { Decompress } from 'fzstd';

/** The bytes of a file that zstd compressed, without all of them in memory at the same time. @throws {Error} when it is another file */
export async function* decompressed(file: Blob): AsyncGenerator<Uint8Array> {
  let ready: Uint8Array[] = [];
  const zstd = new Decompress((bytes) => ready.push(bytes));
  const reader = file.stream().getReader();
  for (;;) {
    const { value, done } = await reader.read();
    zstd.push(value ?? new Uint8Array(), done);
    yield* ready;
    ready = [];
    if (done) return;
  }
}
