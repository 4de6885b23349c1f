import { createHash, type Hash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';

/** The SHA-256 of a file, in hexadecimal. @throws errors of the disk */
export const sha256OfFile = async (path: string): Promise<string> => {
  await using file = await open(path);
  return (await hashFile(createHash('sha256'), file)).digest('hex');
};

/** Adds what an open file has, or a part of it, to a hash. Both ends of the part are included. @throws errors of the disk */
export const hashFile = async (
  hash: Hash,
  file: FileHandle,
  part: { readonly start?: number; readonly end?: number } = {},
): Promise<Hash> => {
  for await (const chunk of file.createReadStream({ ...part, autoClose: false }))
    hash.update(chunk as Buffer);
  return hash;
};
