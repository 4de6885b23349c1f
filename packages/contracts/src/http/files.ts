import { Type, type Static } from 'typebox';
import { MAX_FILENAME } from '../limits.ts';
import { nullable } from '../schemas.ts';
import { FileUuid, UploadUuid, Cursor, NextCursor, PageLimit, time } from './fields.ts';

const FileId = {
  ...FileUuid,
  description: 'The id of the file: the value of an input that is this file.',
};
const ExpiresAt = time('When it is erased, unless it is uploaded or named by a new run before.');

/** A file that a client uploaded, for inputs of runs. Equal bytes of an organisation are one file. */
export const UploadedFile = Type.Object(
  {
    id: FileId,
    url: Type.String({
      format: 'uri',
      description: 'The address of its bytes, for API keys of the organisation.',
      examples: ['http://127.0.0.1:8080/api/files/01a21460-0009-7000-8000-000000000009/content'],
    }),
    filename: Type.String({
      maxLength: MAX_FILENAME,
      description: 'Its name, as it was uploaded last.',
      examples: ['photo.png'],
    }),
    bytes: Type.Integer({ minimum: 0, description: 'Its size in bytes.', examples: [1_482_993] }),
    sha256: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'The SHA-256 of its bytes, in hexadecimal digits.',
      examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
    }),
    content_type: Type.String({
      description: 'Its MIME type, as it was uploaded last.',
      examples: ['image/png'],
    }),
    expires_at: ExpiresAt,
  },
  { title: 'UploadedFile', description: 'A file that a client uploaded, for inputs of runs.' },
);
export type UploadedFile = Static<typeof UploadedFile>;

export const FilesQuery = Type.Object({
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

export const FilePage = Type.Object(
  {
    files: Type.Array(UploadedFile, { description: 'The last uploaded one first.' }),
    next_cursor: NextCursor,
  },
  { title: 'FilePage', description: 'A page of files.' },
);

/** A resumable upload. */
export const FileUpload = Type.Object(
  {
    id: UploadUuid,
    url: Type.String({
      format: 'uri',
      description: 'Where the bytes go, by PATCH.',
      examples: ['http://127.0.0.1:8080/api/files/uploads/01a21460-000a-7000-8000-00000000000a'],
    }),
    offset: Type.Integer({
      minimum: 0,
      description: 'The number of bytes that are stored: the next ones begin here.',
      examples: [1_048_576],
    }),
    bytes: Type.Integer({
      minimum: 0,
      description: 'The size of the whole file in bytes.',
      examples: [1_482_993],
    }),
    expires_at: time('When the upload is erased, unless bytes arrive before. Its file stays.'),
    file: nullable(UploadedFile, 'The file. Null until all bytes have arrived.'),
  },
  { title: 'FileUpload', description: 'A resumable upload of a file.' },
);
export type FileUpload = Static<typeof FileUpload>;
