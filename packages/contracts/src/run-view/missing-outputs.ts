import { isEnded, type Run } from '../fold/run.ts';
import type { MissingMember } from '../http/runs/run-outputs.ts';

/** What a run shows in `missing_members` about its outputs. `lost`: of the list of them, when it was loaded. */
export const missingOutputs = (run: Run, lost: readonly MissingMember[]): readonly MissingMember[] =>
  isEnded(run) && run.deleted_outputs ? [{ member: 'outputs', reason: 'deleted' }] : lost;
