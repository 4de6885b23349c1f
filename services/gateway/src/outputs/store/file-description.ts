import { Sha256 } from '@runledger/contracts/blobs';
import { Type } from 'typebox';

/** What a store keeps beside the bytes of a file, as JSON. */
export const FileDescription = Type.Object({
  key: Type.String(),
  filename: Type.String(),
  content_type: Type.String(),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Sha256,
});
