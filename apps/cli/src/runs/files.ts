import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { FilePage, UploadedFile, FileUpload } from '@runledger/contracts/http/files';
import type { Command } from 'commander';
import { contentTypeOf } from '@runledger/contracts/file-name';
import { at, Nothing, failureOf, send, retryForAMinute } from '../api/api-call.ts';
import type { Client, CommandContext } from '../command/command-context.ts';
import { DEFAULT_LIMIT, listPages, type ListOptions } from '../command/list-pages.ts';
import { CommandError, plain } from '../command/command-error.ts';
import { inColumns, type Column } from '../command/table.ts';
import { Unavailable } from '../api/api-problem.ts';
import { whyUnreadable } from '../command/option-values.ts';

/** Files for inputs of runs. */
export const addFileCommands = (program: Command, { withClient, add }: CommandContext): void => {
  const group = program.command('files').description('files for inputs of runs');
  add(group, 'put <path>', 'upload a file; prints its id, the value of an input').action(
    withClient(async (opened, path: string) => {
      opened.screen.result(await uploadFile(opened, path), ({ id }) => id);
    }),
  );
  add(group, 'list', 'list files, the last uploaded one first')
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .action(withClient(listFiles));
  add(group, 'show <id>', 'what a file is, and when it expires').action(
    withClient(async ({ call, screen }, id: string) => {
      screen.result(await call(UploadedFile, { method: 'GET', path: at`/files/${id}` }), fileLines);
    }),
  );
  add(group, 'delete <id>', 'delete a file; runs that name it and have not begun will fail').action(
    withClient(async ({ call, screen }, id: string) => {
      await call(Nothing, { method: 'DELETE', path: at`/files/${id}` });
      screen.result({ id }, () => `File ${id} is deleted.`);
    }),
  );
};

const columns: readonly Column<UploadedFile>[] = [
  { title: 'ID', width: 36, of: ({ id }) => id },
  { title: 'BYTES', width: 11, of: ({ bytes }) => String(bytes) },
  { title: 'KEPT UNTIL', width: 24, is: 'time', of: ({ expires_at }) => expires_at },
  { title: 'NAME', width: 0, of: ({ filename }) => filename },
];

const listFiles = ({ call, screen }: Client, options: ListOptions): Promise<void> =>
  listPages(screen, options, {
    readPage: async (span) => {
      const { files, next_cursor } = await call(FilePage, {
        method: 'GET',
        path: '/files',
        query: { ...span },
      });
      return { items: files, next_cursor };
    },
    ...inColumns(screen, columns),
    none: 'There are no files.',
  });

const fileLines = ({ filename, bytes, content_type, sha256, expires_at }: UploadedFile): string[] => [
  `${filename}, ${content_type}, ${bytes} bytes`,
  `sha256 ${sha256}`,
  `kept until ${expires_at}, or longer when a run names it`,
];

/** Uploads a file of this machine. @throws CommandError */
export const uploadFile = async (client: Client, name: string): Promise<UploadedFile> => {
  const path = resolve(client.cwd, name);
  await checkFile(path, name);
  return uploadBlob(client, basename(path), await openAsBlob(path));
};

interface UploadOptions {
  /** The file goes when it is kept as a model. */
  readonly isModel?: boolean;
  /** Called from time to time with the bytes that the service has, and all of them. */
  readonly onSent?: (sent: number, of: number) => void;
}

/** Uploads bytes resumably: after an interruption it continues, for up to a minute without progress. @throws CommandError */
export const uploadBlob = async (
  client: Client,
  filename: string,
  blob: Blob,
  { isModel = false, onSent }: UploadOptions = {},
): Promise<UploadedFile> => {
  const { call, screen } = client;
  const bytes = blob.size;
  const headers = {
    'tus-resumable': '1.0.0',
    'upload-length': String(bytes),
    'upload-metadata': `filename ${base64(filename)},filetype ${base64(contentTypeOf(filename))}${isModel ? ',model' : ''}`,
  };
  const begun = await retryForAMinute(
    () => call(FileUpload, { method: 'POST', path: '/files/uploads', headers }),
    screen,
  );
  const uploadPath = at`/files/uploads/${begun.id}`;
  const read = () => call(FileUpload, { method: 'GET', path: uploadPath });
  using open = new DisposableStack();
  if (onSent) open.use(tellEvery(async () => onSent((await read()).offset, bytes)));
  for (let sent = 0; sent < bytes;) {
    sent = await retryForAMinute(async () => {
      const { offset } = await read();
      // What came before an interruption begins another minute.
      if (offset === sent) await sendFrom(client, uploadPath, blob, offset);
      return offset === sent ? bytes : offset;
    }, screen);
  }
  return retryForAMinute(async () => {
    const { file } = await read();
    if (file) return file;
    throw new Unavailable(`${plain(filename)} is uploaded, and the service has not made a file of it yet.`);
  }, screen);
};

const TELL_EVERY_MS = 1_000;

/** Not again before it was told. */
const tellEvery = (tell: () => Promise<void>): Disposable => {
  let isTelling = false;
  const timer = setInterval(() => {
    if (isTelling) return;
    isTelling = true;
    void tell()
      .catch(() => undefined)
      .finally(() => (isTelling = false));
  }, TELL_EVERY_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** @throws CommandError for what is no file that can be read */
export const checkFile = async (path: string, name: string): Promise<void> => {
  try {
    const found = await stat(path);
    if (found.isFile()) return;
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
  blob: Blob,
  offset: number,
): Promise<void> => {
  const headers = {
    'content-type': 'application/offset+octet-stream',
    'tus-resumable': '1.0.0',
    'upload-offset': String(offset),
  };
  try {
    const body = blob.slice(offset);
    const response = await send(connection, { method: 'PATCH', path: uploadPath, headers, body }, {});
    await response.text();
  } catch (error) {
    const failure = failureOf(connection, error);
    throw STILL_WRITTEN.has(failure.refusal?.code) ? new Unavailable(failure.message) : failure;
  }
};
