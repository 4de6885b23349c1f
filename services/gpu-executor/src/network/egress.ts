import type { Logger } from '@runledger/event-log/connect/observability';
import { nameResolver } from '@runledger/webhooks/name-resolver';
import { openChecked } from '@runledger/webhooks/checked-connection';
import { policyFromConfig } from '@runledger/webhooks/policy-config';
import type { ExecutorConfig } from '../config.ts';
import type { InputFileSettings } from '../transfer/fetch-input-files.ts';
import { openUrlFetcher, type FetchUrl } from '../transfer/fetch-url.ts';
import { openOutgoingProxy, type OutgoingProxy } from './outgoing-proxy.ts';

/** What connects to addresses that others choose. Neither reaches a service of Runledger that the executor knows. */
export interface Egress {
  /** Who queues a run chooses the URLs of its inputs. */
  readonly inputFiles: InputFileSettings;
  /** Who deploys a version chooses the URLs of its weights, by the same policy. */
  readonly fetchModel: FetchUrl;
  /** For programs. */
  readonly proxy: OutgoingProxy;
}

/** 100 GB by a slow line; the start deadline of the run ends it earlier. */
const MODEL_WITHIN_MS = 24 * 3_600_000;
const MODEL_TRIES = 6;

/** `own`: services of Runledger that this one knows. */
export const openEgress = (
  {
    config,
    own,
    log,
  }: { readonly config: ExecutorConfig; readonly own: readonly string[]; readonly log: Logger },
  open: AsyncDisposableStack,
): Egress => {
  const clock = (): number => performance.now();
  const resolver = open.use(nameResolver({ servers: config.RUNLEDGER_DNS_SERVERS, clock }));
  const egressProxy = config.RUNLEDGER_WEBHOOK_PROXY;
  const way = { resolver, proxy: egressProxy === undefined ? undefined : new URL(egressProxy) };
  const forPrograms = { allow: config.EXECUTOR_NETWORK_ALLOW, allowedBy: 'EXECUTOR_NETWORK_ALLOW' };
  return {
    inputFiles: {
      log,
      maxBytes: config.EXECUTOR_INPUT_MAX_BYTES,
      fetchUrl: openUrlFetcher({
        ...way,
        policy: policyFromConfig(config, own),
        withinMs: config.EXECUTOR_INPUT_FETCH_S * 1_000,
        maxTries: 3,
      }),
    },
    fetchModel: openUrlFetcher({
      ...way,
      policy: policyFromConfig(config, own),
      withinMs: MODEL_WITHIN_MS,
      maxTries: MODEL_TRIES,
    }),
    proxy: openOutgoingProxy(openChecked({ ...way, policy: policyFromConfig(config, own, forPrograms) })),
  };
};
