import { Type, type Static } from 'typebox';
import { MAX_FILENAME } from '../limits.ts';
import { nullable } from './fields/optional.ts';
import { Cursor, NextCursor, PageLimit } from './fields/values.ts';

const FileId = Type.String({ format: 'uuid', description: 'The value of an input that is this file.' });
const ExpiresAt = Type.String({
  format: 'date-time',
  description: 'When it is erased, unless it is uploaded or named by a new run before.',
});

/** A file that a client uploaded, for inputs of runs. Equal bytes of an organisation are one file. */
export const UploadedFile = Type.Object(
  {
    id: FileId,
    url: Type.String({
      format: 'uri',
      description: 'Of its bytes, for API keys of the organisation.',
    }),
    filename: Type.String({ maxLength: MAX_FILENAME, description: 'As it was uploaded last.' }),
    bytes: Type.Integer({ minimum: 0 }),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    content_type: Type.String({ description: 'As it was uploaded last.' }),
    expires_at: ExpiresAt,
  },
  { title: 'UploadedFile' },
);
export type UploadedFile = Static<typeof UploadedFile>;

export const FilesQuery = Type.Object({
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

export const FilePage = Type.Object(
  { files: Type.Array(UploadedFile), next_cursor: NextCursor },
  { title: 'FilePage' },
);

/** A resumable upload. */
export const FileUpload = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    url: Type.String({ format: 'uri', description: 'Where the bytes go, by PATCH.' }),
    offset: Type.Integer({
      minimum: 0,
      description: 'The bytes that are stored. The next ones follow here.',
    }),
    bytes: Type.Integer({ minimum: 0, description: 'Of the whole file.' }),
    expires_at: Type.String({
      format: 'date-time',
      description: 'When the upload is erased, unless bytes arrive before. Its file stays.',
    }),
    file: nullable(UploadedFile),
  },
  { title: 'FileUpload' },
);
export type FileUpload = Static<typeof FileUpload>;
