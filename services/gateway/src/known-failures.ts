import { BlobStoreFull } from '@runledger/blob-store/blob-store';
import { EventTooLarge, LogFull } from '@runledger/event-log/append/append';
import { AuditNotStored } from '@runledger/event-log/streams/record-action';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import { ArchiveUnavailable } from './archive/archive-objects.ts';
import { OutputStoreUnavailable } from './files/output-store.ts';
import { ViewsUnavailable } from './views/run-views.ts';
import { SchedulerUnavailable } from './records/operators/scheduler-client.ts';
import type { KnownFailure } from './door/refusal.ts';

/** The refusals for errors that features throw. */
export const knownFailures: readonly KnownFailure[] = [
  [
    AuditNotStored,
    {
      code: 'audit_not_stored',
      why: 'The audit record of this request could not be stored, so nothing was done. Try again; an operator looks whether the broker is available and its disk has room',
    },
  ],
  [
    LogFull,
    {
      code: 'log_full',
      why: 'The log is full and accepts nothing until older events expire. Nothing was done',
    },
  ],
  [
    LogUnavailable,
    {
      code: 'log_unavailable',
      why: 'The log of runs cannot be reached now. Try again: the request may or may not have taken effect',
    },
  ],
  [
    BlobStoreFull,
    {
      code: 'workflow_store_full',
      why: 'The store of workflows is full, so nothing was created: ask the operator to raise workflowsMaxBytes in RUNLEDGER_LOG_SETTINGS',
    },
  ],
  [
    ViewsUnavailable,
    {
      code: 'views_unavailable',
      why: 'The store of runs for lists cannot be reached now, or is too slow. Try again, or read a run by its id',
    },
  ],
  [
    SchedulerUnavailable,
    {
      code: 'scheduler_unavailable',
      why: 'No scheduler leads now, or the leader does not respond. Check that a scheduler is running, and try again',
    },
  ],
  [
    ArchiveUnavailable,
    {
      code: 'archive_unavailable',
      why: 'The archive, which has the facts of older runs, cannot be read now. Try again; an operator finds the reason in the log of the gateway',
    },
  ],
  [
    OutputStoreUnavailable,
    { code: 'output_store_unavailable', why: 'The store of output files cannot be reached now. Try again' },
  ],
  [
    EventTooLarge,
    { code: 'run_too_large', why: 'The run is too large for an event of the log: send smaller inputs' },
  ],
];
