import { FileUuid } from '@runledger/contracts/http/fields';
import { FilePage, FilesQuery, UploadedFile } from '@runledger/contracts/http/files';
import type { Kit } from '../kit.ts';
import type { Context } from 'koa';
import { Type } from 'typebox';
import { checkRecordCursor, recordSpan } from '../records/catalogue/record-answers.ts';
import { operation, route, type Route } from '../door/operation.ts';
import { cursorAt } from '../door/pagination.ts';
import { found, notFound, Refused } from '../door/refusal.ts';
import { lengthRequired, requestBody } from '../door/json-body.ts';
import { sendFile } from './send-file.ts';
import type { OutputStore } from './output-store.ts';
import type { Files } from './files.ts';
import { readParts } from './file-records.ts';

const tag = 'Files';
const FilePath = Type.Object({ id: FileUuid });

const uploadFile = operation({
  id: 'uploadFile',
  method: 'POST',
  path: '/files',
  tag,
  summary: 'Upload a file',
  description:
    'The body is the file, with its `Content-Type` and `Content-Length`. Its `id` is the value of an input of type `file`, `image`, `audio` or `video`. The address of an output of a run is such a value too. Equal bytes are one file: it then has the name and the type that were sent last. A file is kept for some days after it was uploaded or a run with it was queued. Send a file that is larger than 64 MiB by a resumable upload.',
  scope: 'runs:write',
  audit: { unrecorded: 'it is data of the client' },
  request: {
    query: Type.Object({
      filename: Type.Optional(
        Type.String({
          maxLength: 1_024,
          examples: ['photo.png'],
          description:
            'The name of the file. Its last part is used, without characters that some system forbids.',
        }),
      ),
    }),
  },
  rawBody: 'The bytes of the file.',
  response: {
    status: 201,
    description: 'The file is stored.',
    body: UploadedFile,
    links: { to: ['getFile', 'getFileContent', 'deleteFile'], parameters: { id: '/id' } },
  },
  refusals: [507],
});

const listFiles = operation({
  id: 'listFiles',
  method: 'GET',
  path: '/files',
  tag,
  summary: 'List files',
  description: 'Of the organisation, the last uploaded one first. Unfinished uploads are not among them.',
  scope: 'runs:read',
  request: { query: FilesQuery },
  response: { status: 200, description: 'A page of files.', body: FilePage },
});

const getFile = operation({
  id: 'getFile',
  method: 'GET',
  path: '/files/{id}',
  tag,
  summary: 'Read what a file is',
  scope: 'runs:read',
  request: { path: FilePath },
  response: { status: 200, description: 'The file.', body: UploadedFile },
  refusals: [404],
});

const getFileContent = operation({
  id: 'getFileContent',
  method: 'GET',
  path: '/files/{id}/content',
  tag,
  summary: 'Download a file',
  description: 'The response has the type of the file. A part of it can be requested with `Range`.',
  scope: 'runs:read',
  request: { path: FilePath },
  response: { status: 200, description: 'Its bytes.', contentTypes: ['application/octet-stream'] },
  refusals: [404],
});

const deleteFile = operation({
  id: 'deleteFile',
  method: 'DELETE',
  path: '/files/{id}',
  tag,
  summary: 'Delete a file',
  description: 'A run that names it and has not begun will fail, because its input cannot be fetched.',
  scope: 'runs:write',
  audit: { action: 'file.deleted', target: 'id' },
  request: { path: FilePath },
  response: { status: 204, description: 'The file is gone.' },
  refusals: [404],
});

/** The operations on files of the organisation. */
export const fileRoutes = (kit: Kit, files: Files, store: OutputStore): Route[] => [
  route(uploadFile, async ({ query }, { org_id }, ctx) => {
    const file = { filename: query.filename ?? '', ...sentFile(ctx) };
    return files.shown(await files.store(org_id, file, requestBody(ctx)));
  }),
  route(
    listFiles,
    async ({ query }, { org_id }) => {
      const { items, end } = await files.list(org_id, recordSpan(query));
      return { files: [...items], next_cursor: cursorAt(end) };
    },
    checkRecordCursor,
  ),
  route(getFile, async ({ path }, { org_id }) =>
    files.shown(found(await files.find(org_id, path.id), 'File')),
  ),
  route(getFileContent, async ({ path }, { org_id }, ctx) => {
    const { parts, ...described } = found(await files.find(org_id, path.id), 'File').value;
    const read = readParts.bind(undefined, store, parts);
    await sendFile(ctx, { file: described, cacheControl: 'private, no-cache', read }, kit.logger);
  }),
  route(deleteFile, async ({ path }, { org_id }) => {
    if (!(await files.remove(org_id, path.id))) throw notFound('File');
  }),
];

/** The type that curl sends unless it is told another one. */
const OF_A_FORM = 'application/x-www-form-urlencoded';

/** What the headers say about the body. @throws {Refused} */
const sentFile = (ctx: Context): { readonly content_type: string; readonly bytes: number } => {
  const type = ctx.get('content-type');
  if (/^multipart\//i.test(type)) {
    throw new Refused({
      code: 'content_type_unsupported',
      why: "Send the file itself as the body, not a form, such as: curl --data-binary @photo.png -H 'Content-Type: image/png' '…/files?filename=photo.png'",
    });
  }
  if (ctx.get('content-encoding') !== '') {
    throw new Refused({
      code: 'content_encoding_unsupported',
      why: 'Send the file without Content-Encoding',
    });
  }
  const length = ctx.get('content-length');
  if (length === '') throw lengthRequired();
  return { content_type: type.toLowerCase() === OF_A_FORM ? '' : type, bytes: Number(length) };
};

/** Where clients find files at this installation. */
export interface OwnAddresses {
  /** Without a slash at the end. */
  readonly origin: string;
  /** Of the API, with its base path. */
  readonly api: string;
}

/** What an address at this installation is the address of. */
type OwnAddress =
  | { readonly kind: 'file'; readonly id: string }
  | {
      readonly kind: 'output';
      readonly key: string;
      readonly filename: string;
      readonly query: { readonly expires?: string; readonly signature?: string };
    };

const FILE = /^\/files\/([0-9a-f-]{36})\/content$/;
const OUTPUT = /^\/outputs\/([^/?]+)\/([^/?]+)(?:\?(.*))?$/;

/** Undefined for any other address. */
export const readOwnAddress = (url: string, { origin, api }: OwnAddresses): OwnAddress | undefined => {
  const id = behind(url, api, FILE)?.[1];
  if (id !== undefined) return { kind: 'file', id };
  const [, key, filename, query = ''] = behind(url, origin, OUTPUT) ?? [];
  if (key === undefined || filename === undefined) return undefined;
  try {
    return {
      kind: 'output',
      key,
      filename: decodeURIComponent(filename),
      query: Object.fromEntries(new URLSearchParams(query)),
    };
  } catch {
    return undefined;
  }
};

const behind = (url: string, beginning: string, form: RegExp): RegExpExecArray | null =>
  url.startsWith(beginning) ? form.exec(url.slice(beginning.length)) : null;
