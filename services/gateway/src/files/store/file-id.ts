import { createHash } from 'node:crypto';
import type { OrgId } from '@runledger/contracts/ids';
import { uuid8 } from '../../ids/uuid8.ts';

/** The id of the file with these bytes. Other organisations have another id for equal bytes, so none learns what others have. */
export const fileIdOf = (org_id: OrgId, sha256: string): string =>
  uuid8(createHash('sha256').update(`file\n${org_id}\n${sha256}`).digest());
