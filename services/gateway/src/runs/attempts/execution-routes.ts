import { MAX_OUTPUT_FILES } from '@runledger/contracts/limits';
import type { BlobStores } from '@runledger/blob-store/blob-stores';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { PlainRoute } from '../../door/operation.ts';
import type { OutputStore } from '../../files/output-store.ts';
import type { BlobQuota } from '../../records/quotas/blob-quota.ts';
import type { AdmitUpload } from '../../records/quotas/admit-upload.ts';
import { attemptFiles } from './attempt-files.ts';
import {
  inputsOf,
  workflowOf,
  inputTargetsRoute,
  inputFileRoute,
  secretInputsRoute,
  type FindVersion,
} from './attempt-inputs.ts';
import { logMasksRoute, logRoute, type FindDeployment } from './attempt-log.ts';
import { outputListRoute, uploadRoute } from './attempt-outputs.ts';
import type { Files } from '../../files/files.ts';
import { fetchRoute } from './attempt-permission.ts';
import type { InputSecrets } from '../facts/input-secrets.ts';

export interface ExecutionRoutes {
  readonly config: {
    readonly RUNLEDGER_OUTPUT_FILE_MAX_BYTES: number;
    readonly RUNLEDGER_OUTPUT_RUN_MAX_BYTES: number;
  };
  readonly log: EventLog;
  readonly stores: BlobStores;
  readonly blobQuota: BlobQuota;
  readonly secrets: Pick<InputSecrets, 'open'>;
  readonly findDeployment: FindDeployment;
  readonly store: OutputStore;
  readonly files: Pick<Files, 'find'>;
  readonly findVersion: FindVersion;
  readonly admit: AdmitUpload;
  readonly logger: Logger;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly onUploaded: (bytes: number) => void;
}

/** What the executor of an attempt requests, with the token of the attempt. */
export const executionRoutes = ({
  config,
  log,
  stores,
  blobQuota,
  files,
  ...parts
}: ExecutionRoutes): PlainRoute[] => {
  const limits = {
    fileBytes: config.RUNLEDGER_OUTPUT_FILE_MAX_BYTES,
    runBytes: config.RUNLEDGER_OUTPUT_RUN_MAX_BYTES,
    files: MAX_OUTPUT_FILES,
  };
  const route = (method: PlainRoute['method'], name: string, serve: PlainRoute['serve']): PlainRoute => ({
    method,
    path: `/executions/:org_id/:run_id/:attempt/${name}`,
    serve,
    needsLog: true,
  });
  return [
    route('GET', 'workflow', fetchRoute(log, workflowOf(stores))),
    route('GET', 'inputs', fetchRoute(log, inputsOf(stores))),
    route('GET', 'secret-inputs', secretInputsRoute({ log, inputs: inputsOf(stores), ...parts })),
    route('GET', 'input-targets', inputTargetsRoute(log, parts.findVersion)),
    route('GET', 'files/:id', inputFileRoute({ log, inputs: inputsOf(stores), files, ...parts })),
    route('GET', 'log-masks', logMasksRoute(log, parts.findDeployment)),
    route('PUT', 'log', logRoute({ log, blobs: stores.blobs, blobQuota })),
    route('PUT', 'output-list', outputListRoute({ log, blobs: blobQuota })),
    route('PUT', 'outputs', uploadRoute({ log, files: attemptFiles(), limits, ...parts })),
  ];
};
