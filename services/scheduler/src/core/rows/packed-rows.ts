import type { RunRequest } from '@runledger/contracts/fold/run';
import type { OrgId } from '@runledger/contracts/ids';
import type { PackableIds } from './packed-ids.ts';

/** What few runs have, and ids that are no UUIDs. */
export type RowTexts = Partial<PackableIds> & {
  readonly concurrency_key?: string;
  readonly not_before?: string;
};

/** The request of rows, without what decisions do not need. */
export interface RowRequest {
  readonly org_id: OrgId;
  readonly request: RunRequest;
}

/** Copies of rows, without gaps between them. */
export interface PackedRows {
  readonly numbers: Float64Array;
  readonly createdMs: Float64Array;
  readonly flags: Uint16Array;
  readonly ids: Uint32Array;
  /** One for each row. */
  readonly requests: readonly RowRequest[];
  /** By index. */
  readonly texts: ReadonlyMap<number, RowTexts>;
}
