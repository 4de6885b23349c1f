import { catalogue } from './records/catalogue/catalogue.ts';
import type { OwnAddresses } from './files/file-routes.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { now, type GatewayParts } from './gateway-parts.ts';
import type { RunServices } from './run-services.ts';
import { acceptRun, type AcceptRun } from './runs/facts/accept-run.ts';
import { callbackRules, type CallbackRules } from './runs/facts/callback-rules.ts';
import { deploymentQueue, type DeploymentQueue } from './runs/facts/deployment-queue.ts';
import type { InputLimits } from './runs/facts/check-inputs.ts';
import { keepFiles, keepRunFiles, type KeepRunFiles } from './runs/facts/keep-files.ts';

type QueueingParts = Omit<GatewayParts, 'metrics'>;

/** What everything that queues runs shares. */
export interface RunQueueing {
  readonly accept: AcceptRun;
  readonly callbacks: CallbackRules;
  readonly deployments: DeploymentQueue;
  readonly keepFiles: KeepRunFiles;
  readonly limits: InputLimits;
}

const RESOLVE_WITHIN_MS = 1_000;

export const runQueueing = (
  parts: QueueingParts,
  services: RunServices,
  metrics: GatewayMetrics,
): RunQueueing => {
  const { config, log, logger, policy, resolver } = parts;
  const accept = acceptance(parts, services, metrics);
  const callbacks = callbackRules({
    policy,
    resolver,
    maxLength: config.RUNLEDGER_WEBHOOK_URL_MAX,
    resolveWithinMs: RESOLVE_WITHIN_MS,
  });
  const keep = fileKeeping(parts, services, callbacks);
  const { secrets } = services;
  return {
    accept,
    callbacks,
    keepFiles: keep,
    deployments: deploymentQueue({
      accept,
      catalogue: catalogue(log),
      callbacks,
      keepFiles: keep,
      secrets,
      now,
      logger,
    }),
    limits: {
      inputs: config.RUNLEDGER_INPUTS_MAX,
      inputsBytes: config.RUNLEDGER_INPUTS_MAX_BYTES,
      inputNameLength: config.RUNLEDGER_INPUT_NAME_MAX,
    },
  };
};

const acceptance = (
  { config, log, instance }: QueueingParts,
  { stores, secrets, current, longestRun, room, quotas, numbers }: RunServices,
  metrics: GatewayMetrics,
): AcceptRun =>
  counted(
    acceptRun({
      log,
      blobs: stores.blobs,
      current,
      longestRun,
      room,
      queued: quotas.queued_runs,
      numbers,
      blobQuota: quotas.blob_bytes,
      maxInputsBytes: config.RUNLEDGER_INPUTS_MAX_BYTES,
      secrets,
      writer: { service: 'gateway', instance },
      now,
    }),
    metrics,
  );

const fileKeeping = (
  { config, publicUrl }: QueueingParts,
  { files, outputs, outputUrls, stores }: RunServices,
  addresses: CallbackRules,
): KeepRunFiles => {
  const own = (): OwnAddresses => ({
    origin: publicUrl(),
    api: `${publicUrl()}${config.RUNLEDGER_BASE_PATH}`,
  });
  return keepRunFiles({
    blobs: stores.blobs,
    keepFiles: keepFiles({ files, addresses, outputs: outputs.store, outputUrls, own }),
  });
};

const counted =
  (accept: AcceptRun, { notQueued }: GatewayMetrics): AcceptRun =>
  async (...request) => {
    const acceptance = await accept(...request);
    switch (acceptance.kind) {
      case 'accepted':
      case 'accepted_before':
      case 'refused':
        break;
      case 'key_taken':
      case 'key_of_deleted_run':
      case 'log_nearly_full':
      case 'queue_full':
      case 'outlives_log':
      case 'inputs_gone':
      case 'inputs_store_full':
      case 'inputs_too_large':
      case 'inputs_over_quota':
      case 'views_unavailable':
      case 'unreadable':
        notQueued(acceptance.kind);
    }
    return acceptance;
  };
