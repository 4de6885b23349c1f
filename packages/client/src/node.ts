/** `@runledger/client/node`: what needs the file system of Node, Bun or Deno. */
import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RunledgerError } from './errors.ts';

/**
 * A file of the disk as the value of an input, or for `files.upload`. It is read while it is uploaded. Its type is found from its
 * name, unless `contentType` says it. @throws RunledgerError for what cannot be read
 */
export const fileFrom = async (
  path: string | URL,
  { contentType = '' }: { readonly contentType?: string } = {},
): Promise<File> => {
  const name = typeof path === 'string' ? path : fileURLToPath(path);
  try {
    // A pipe would block for ever.
    if ((await stat(name)).isFile())
      return new File([await openAsBlob(name)], basename(name), { type: contentType });
  } catch (error) {
    throw new RunledgerError(`${name} cannot be read: ${String(error)}`, { cause: error });
  }
  throw new RunledgerError(`${name} is not a regular file. Name a file.`);
};
