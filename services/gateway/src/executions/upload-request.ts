import type { StoredFile } from '@runledger/contracts/events/run-event-data';
import { problemOfFileName } from '@runledger/contracts/file-name';
import type { Context } from 'koa';
import { contentTypeIn } from '../http/content-type.ts';
import { invalid, invalidRequest, Refused, type Invalid } from '../http/refusal.ts';
import { lengthRequired } from '../http/request-body.ts';

export interface UploadRequest {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: StoredFile['type'];
  readonly content_type: string;
  readonly bytes: number;
}

const MAX_SUBFOLDER = 1_024;

/** The description of the file that an executor is about to send. Refuses with 411, 413 or 422. */
export const uploadRequest = (ctx: Context, maxBytes: number): UploadRequest => {
  const length = ctx.get('content-length');
  if (length === '') throw lengthRequired();
  const bytes = Number(length);
  if (!(bytes <= maxBytes)) {
    throw new Refused({
      code: 'file_too_large',
      why: `An output file may have at most ${maxBytes} bytes, and this one has ${length}`,
    });
  }
  const wrong: Invalid[] = [];
  const filename = single(ctx, 'filename') ?? '';
  const problem = problemOfFileName(filename);
  if (problem !== null)
    wrong.push(invalid(['query', 'filename'], 'value_error', `Value error, the file name ${problem}`));
  const subfolder = single(ctx, 'subfolder') ?? '';
  if (subfolder.length > MAX_SUBFOLDER || (subfolder !== '' && !isRelativePath(subfolder))) {
    const msg = 'Value error, a subfolder is a relative path of names between slashes, without "." and ".."';
    wrong.push(invalid(['query', 'subfolder'], 'value_error', msg));
  }
  const type = single(ctx, 'type') ?? 'output';
  if (type !== 'output' && type !== 'temp') {
    wrong.push(invalid(['query', 'type'], 'enum', "Input should be 'output' or 'temp'"));
  }
  if (wrong.length > 0 || (type !== 'output' && type !== 'temp')) {
    throw invalidRequest(...wrong);
  }
  const content_type = contentTypeIn(ctx.get('content-type'));
  return { filename, subfolder, type, content_type, bytes };
};

const single = (ctx: Context, name: string): string | undefined => {
  const value = ctx.query[name];
  return Array.isArray(value) ? value.at(-1) : value;
};

const isRelativePath = (path: string): boolean =>
  path.split('/').every((name) => problemOfFileName(name) === null);
