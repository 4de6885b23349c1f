import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { contentTypeOf } from '@runledger/contracts/content-type';
import { FileUpload, type UploadedFile } from '@runledger/contracts/http/files';
import { at, failureOf, send } from '../api-client/api-call.ts';
import { Unavailable } from '../api-client/api-problem.ts';
import type { Client } from '../api-client/client.ts';
import { retryForAMinute } from '../api-client/retry-for-a-minute.ts';
import { whyUnreadable } from '../options/json-files.ts';
import { CommandError } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';

/** Uploads a file resumably: after an interruption it continues, for up to a minute without progress. @throws CommandError */
export const uploadFile = async (client: Client, name: string): Promise<UploadedFile> => {
  const { call, screen, cwd } = client;
  const path = resolve(cwd, name);
  const bytes = await sizeOf(path, name);
  const filename = basename(path);
  const headers = {
    'tus-resumable': '1.0.0',
    'upload-length': String(bytes),
    'upload-metadata': `filename ${base64(filename)},filetype ${base64(contentTypeOf(filename))}`,
  };
  const begun = await retryForAMinute(
    () => call(FileUpload, { method: 'POST', path: '/files/uploads', headers }),
    screen,
  );
  const uploadPath = at`/files/uploads/${begun.id}`;
  const read = () => call(FileUpload, { method: 'GET', path: uploadPath });
  for (let sent = 0; sent < bytes;) {
    sent = await retryForAMinute(async () => {
      const { offset } = await read();
      // What came before an interruption begins another minute.
      if (offset === sent) await sendFrom(client, uploadPath, path, offset);
      return offset === sent ? bytes : offset;
    }, screen);
  }
  return retryForAMinute(async () => {
    const { file } = await read();
    if (file) return file;
    throw new Unavailable(`${plain(name)} is uploaded, and the service has not made a file of it yet.`);
  }, screen);
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const sizeOf = async (path: string, name: string): Promise<number> => {
  try {
    const found = await stat(path);
    if (found.isFile()) return found.size;
  } catch (error) {
    throw new CommandError(`${plain(name)} cannot be read: ${whyUnreadable(error)}`);
  }
  throw new CommandError(`${plain(name)} is not a regular file. Name a file.`);
};

/** Another gateway may not know yet that the connection of an earlier request broke, or what it stored. */
const STILL_WRITTEN: ReadonlySet<string | null | undefined> = new Set([
  'upload_busy',
  'upload_offset_differs',
]);

const sendFrom = async (
  { connection }: Client,
  uploadPath: string,
  path: string,
  offset: number,
): Promise<void> => {
  const headers = {
    'content-type': 'application/offset+octet-stream',
    'tus-resumable': '1.0.0',
    'upload-offset': String(offset),
  };
  try {
    const body = (await openAsBlob(path)).slice(offset);
    const response = await send(connection, { method: 'PATCH', path: uploadPath, headers, body }, {});
    await response.text();
  } catch (error) {
    const failure = failureOf(connection, error);
    throw STILL_WRITTEN.has(failure.refusal?.code) ? new Unavailable(failure.message) : failure;
  }
};
