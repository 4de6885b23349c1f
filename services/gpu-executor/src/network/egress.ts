import type { ServiceBase } from '@runledger/service-kit/configured-service';
import { nameResolver } from '@runledger/webhooks/name-resolver';
import { brokerHosts, httpHost } from '@runledger/webhooks/hosts';
import { openChecked } from '@runledger/webhooks/checked-connection';
import { policyFromConfig } from '@runledger/webhooks/policy-config';
import type { ExecutorConfig } from '../config.ts';
import type { InputFileSettings } from '../transfer/fetch-input-files.ts';
import { openUrlFetcher } from '../transfer/fetch-url.ts';
import { openOutgoingProxy, type OutgoingProxy } from './outgoing-proxy.ts';

/** What connects to addresses that others choose. Neither reaches a service of Runledger that this one knows. */
export interface Egress {
  /** Who queues a run chooses the URLs of its inputs. */
  readonly inputFiles: InputFileSettings;
  /** For programs. */
  readonly proxy: OutgoingProxy;
}

export const openEgress = (
  { config, health, logger }: ServiceBase<ExecutorConfig>,
  open: AsyncDisposableStack,
): Egress => {
  const own = [
    ...brokerHosts(config.NATS_URL),
    ...httpHost(config.RUNLEDGER_GATEWAY_URL),
    ...httpHost(health),
  ];
  const clock = (): number => performance.now();
  const resolver = open.use(nameResolver({ servers: config.RUNLEDGER_DNS_SERVERS, clock }));
  const egressProxy = config.RUNLEDGER_WEBHOOK_PROXY;
  const way = { resolver, proxy: egressProxy === undefined ? undefined : new URL(egressProxy) };
  const forPrograms = { allow: config.EXECUTOR_NETWORK_ALLOW, allowedBy: 'EXECUTOR_NETWORK_ALLOW' };
  return {
    inputFiles: {
      log: logger,
      maxBytes: config.EXECUTOR_INPUT_MAX_BYTES,
      fetchUrl: openUrlFetcher({
        ...way,
        policy: policyFromConfig(config, own),
        withinMs: config.EXECUTOR_INPUT_FETCH_S * 1_000,
        maxTries: 3,
      }),
    },
    proxy: openOutgoingProxy(openChecked({ ...way, policy: policyFromConfig(config, own, forPrograms) })),
  };
};
