import { UploadUuid } from '@runledger/contracts/http/fields';
import { FileUpload } from '@runledger/contracts/http/files';
import type { Entry } from '@runledger/event-log/streams/bucket';
import type { Context } from 'koa';
import { Type } from 'typebox';
import { operation, route, type Route } from '../door/operation.ts';
import { found, invalid, invalidRequest, Refused } from '../door/refusal.ts';
import { requestBody } from '../door/json-body.ts';
import type { Files } from './files.ts';
import type { FileToUpload } from './uploads.ts';
import { uploadExpiresAt, isComplete, offsetOf, type Upload } from './file-records.ts';

const tag = 'Files';
const VERSION = '1.0.0';
const BODY_TYPE = 'application/offset+octet-stream';
const UploadPath = Type.Object({ id: UploadUuid });
const TusResumable = Type.Optional(Type.Enum([VERSION], { description: 'The version of tus: `1.0.0`.' }));

const beginUpload = operation({
  id: 'beginFileUpload',
  method: 'POST',
  path: '/files/uploads',
  tag,
  summary: 'Begin a resumable upload',
  description:
    'As [tus 1.0](https://tus.io/protocols/resumable-upload) describes it, with its extensions creation, expiration and termination: any client of tus can upload here. `Location` is the address of the upload, at every gateway. An upload that receives nothing for a day is erased.',
  scope: 'runs:write',
  audit: { unrecorded: 'it is data of the client' },
  request: {
    headers: Type.Object({
      'Tus-Resumable': TusResumable,
      'Upload-Length': Type.Integer({
        minimum: 0,
        description: 'The size of the whole file in bytes.',
        examples: [1_482_993],
      }),
      'Upload-Metadata': Type.Optional(
        Type.String({
          maxLength: 4_096,
          examples: ['filename cGhvdG8ucG5n,filetype aW1hZ2UvcG5n'],
          description:
            'Names with values in base64, of which `filename` and `filetype` are used: `filename cGhvdG8ucG5n,filetype aW1hZ2UvcG5n`. With the name `model`, without a value, the file goes when it is kept as a model, unless something else named it.',
        }),
      ),
    }),
  },
  response: {
    status: 201,
    description: 'Bytes can be sent.',
    body: FileUpload,
    links: { to: ['continueFileUpload', 'getFileUpload', 'deleteFileUpload'], parameters: { id: '/id' } },
  },
  refusals: [413],
});

const getUpload = operation({
  id: 'getFileUpload',
  method: 'GET',
  path: '/files/uploads/{id}',
  tag,
  summary: 'Read how far an upload is',
  description:
    '`HEAD` gives the same in the headers `Upload-Offset` and `Upload-Length`. `file` is the file once all bytes have arrived.',
  scope: 'runs:read',
  request: { path: UploadPath },
  response: { status: 200, description: 'The upload.', body: FileUpload, holdsSecret: true },
  refusals: [404],
});

const continueUpload = operation({
  id: 'continueFileUpload',
  method: 'PATCH',
  path: '/files/uploads/{id}',
  tag,
  summary: 'Send bytes of an upload',
  description:
    'The bytes follow those that are stored. When the connection breaks, what arrived stays: read `Upload-Offset`, and continue there. One request at a time sends bytes of an upload; another one is refused with 409.',
  scope: 'runs:write',
  audit: { unrecorded: 'it is data of the client' },
  request: {
    path: UploadPath,
    headers: Type.Object({
      'Tus-Resumable': TusResumable,
      'Upload-Offset': Type.Integer({
        minimum: 0,
        description: 'Where the bytes begin: the number of bytes that are stored.',
        examples: [1_048_576],
      }),
    }),
  },
  rawBody: 'The next bytes of the file.',
  response: {
    status: 204,
    description: 'The bytes are stored. `Upload-Offset` is where the next ones begin.',
  },
  refusals: [404, 409, 507],
});

const deleteUpload = operation({
  id: 'deleteFileUpload',
  method: 'DELETE',
  path: '/files/uploads/{id}',
  tag,
  summary: 'End an upload',
  description: 'What was stored is erased. The file of a finished upload stays.',
  scope: 'runs:write',
  audit: { unrecorded: 'it is data of the client' },
  request: { path: UploadPath },
  response: { status: 204, description: 'The upload is gone.' },
  refusals: [404],
});

/** Resumable uploads, by the protocol tus. */
export const uploadRoutes = (files: Files): Route[] => [
  route(beginUpload, async ({ headers }, { org_id }, ctx) => {
    const metadata = readUploadMetadata(headers['Upload-Metadata'] ?? '');
    if (!metadata) throw invalidRequest(WRONG_METADATA);
    const upload = await files.begin(org_id, { ...metadata, bytes: headers['Upload-Length'] });
    const presented = await files.uploadResponse(upload);
    ctx.set({ ...headersOf(upload), Location: presented.url });
    return presented;
  }),
  route(getUpload, async ({ path }, { org_id }, ctx) => {
    const before = found(await files.findUpload(org_id, path.id), 'Upload');
    const file = isComplete(before.value) ? await files.finish(before) : undefined;
    const upload = (await files.findUpload(org_id, path.id)) ?? before;
    ctx.set(headersOf(upload));
    return files.uploadResponse(upload, file);
  }),
  route(continueUpload, async ({ path, headers }, { org_id }, ctx) => {
    const upload = found(await files.findUpload(org_id, path.id), 'Upload');
    refuseOtherBytes(ctx, upload.value, headers['Upload-Offset']);
    ctx.set(headersOf(await files.receive(upload, requestBody(ctx))));
  }),
  route(deleteUpload, async ({ path }, { org_id }, ctx) => {
    await files.removeUpload(found(await files.findUpload(org_id, path.id), 'Upload'));
    ctx.set('Tus-Resumable', VERSION);
  }),
];

const headersOf = (upload: Entry<Upload>): Record<string, string> => ({
  'Tus-Resumable': VERSION,
  'Upload-Offset': String(offsetOf(upload.value)),
  'Upload-Length': String(upload.value.bytes),
  'Upload-Expires': new Date(uploadExpiresAt(upload)).toUTCString(),
});

/** @throws {Refused} */
const refuseOtherBytes = (ctx: Context, upload: Upload, offset: number): void => {
  if (ctx.get('content-type') !== BODY_TYPE)
    throw new Refused({ code: 'content_type_unsupported', why: `Send the bytes as ${BODY_TYPE}` });
  const stored = offsetOf(upload);
  if (offset !== stored)
    throw new Refused({
      code: 'upload_offset_differs',
      why: `The upload has ${stored} bytes: send those that follow`,
    });
  if (Number(ctx.get('content-length') || 0) > upload.bytes - stored)
    throw new Refused({
      code: 'upload_too_long',
      why: `The file has ${upload.bytes} bytes, and more were sent`,
    });
};

const WRONG_METADATA = invalid(
  ['header', 'Upload-Metadata'],
  'value_error',
  'Write names and values in base64 with a space between, and commas between the pairs',
);

/**
 * What a client says about a file in the header `Upload-Metadata` of tus 1.0: names, each with its value in base64. Undefined for a text that is
 * not in the form of tus.
 */
const readUploadMetadata = (text: string): Omit<FileToUpload, 'bytes'> | undefined => {
  const values = new Map<string, string>();
  for (const pair of text.split(',').map((each) => each.trim())) {
    if (pair === '') continue;
    const [, name = '', value = ''] = /^([^\s,]+)(?: ([A-Za-z0-9+/]*={0,2}))?$/.exec(pair) ?? [];
    if (name === '') return undefined;
    values.set(name, Buffer.from(value, 'base64').toString('utf8'));
  }
  return {
    filename: values.get('filename') ?? values.get('name') ?? '',
    content_type: values.get('filetype') ?? values.get('type') ?? '',
    ...(values.has('model') && { of_one_run: true }),
  };
};
