import type { RunEventOf } from '@runledger/contracts/events/run-event';
import { storedFiles, type ErasedContent, type RunOutput } from '@runledger/contracts/events/run-event-data';
import { isEnded, displayNumber, type EndedRun, type Run } from '@runledger/contracts/fold/run';
import { isUnsettled, type Webhook } from '@runledger/contracts/fold/webhook';
import type { EnvelopeForRun } from '@runledger/contracts/events/event-envelope';

/** What a client deletes: the outputs of a run, or the run with all that belongs to it. */
export type Deletable = 'outputs' | 'run';

export type DeletionRefusal = 'not_ended' | 'not_notified';

export type DeletionDecision =
  | { readonly kind: 'append'; readonly event: RunEventOf<'RunOutputsDeleted' | 'RunDeleted'> }
  /** The outputs were deleted before. */
  | { readonly kind: 'nothing_to_do' }
  | { readonly kind: 'refused'; readonly because: DeletionRefusal };

export interface DeletedBy {
  readonly user_id: string;
  /** Of the API key. */
  readonly key_id: string;
}

export interface Deleting {
  readonly webhook: Webhook | undefined;
  readonly listed: readonly RunOutput[];
}

/** `webhook`: the state of its notifications. `listed`: the outputs of the run, also those of a list in a blob. */
export const deletion = (
  what: Deletable,
  run: Run,
  { webhook, listed }: Deleting,
  by: DeletedBy,
  envelope: EnvelopeForRun,
): DeletionDecision => {
  if (!isEnded(run)) return { kind: 'refused', because: 'not_ended' };
  // The notifier makes the final notification from the run and its outputs. Of a run that the log has lost, it is given up soon.
  if (isUnsettled(run, webhook)) return { kind: 'refused', because: 'not_notified' };
  const base = baseOf(run, envelope);
  if (what === 'run') {
    const { created_at } = run;
    const number = displayNumber(run);
    const erases = erasedContent(run, listed);
    const event = { ...base, type: 'RunDeleted', data: { ...by, number, created_at, erases } } as const;
    return { kind: 'append', event };
  }
  if (run.deleted_outputs) return { kind: 'nothing_to_do' };
  return { kind: 'append', event: { ...base, type: 'RunOutputsDeleted', data: by } };
};

const erasedContent = (
  { request, outputs_blob, log_blob }: EndedRun,
  listed: readonly RunOutput[],
): ErasedContent => {
  const files = storedFiles(listed);
  return {
    files: files.length,
    file_bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    inputs_bytes: request.inputs_blob?.bytes ?? 0,
    outputs_bytes: outputs_blob?.bytes ?? 0,
    log_bytes: log_blob?.bytes ?? 0,
  };
};

const baseOf = (run: EndedRun, envelope: EnvelopeForRun) => ({
  ...envelope,
  version: 1 as const,
  correlation_id: run.correlation_id,
  causation_id: null,
  attempt: run.attempt?.number ?? 0,
  executor_id: null,
});
