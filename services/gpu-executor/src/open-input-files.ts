import type { ServiceBase } from '@runledger/service-kit/lifecycle/configured-service';
import { nameResolver } from '@runledger/webhooks/dns/name-resolver';
import { brokerHosts, httpHost } from '@runledger/webhooks/hosts/service-hosts';
import { policyFromConfig } from '@runledger/webhooks/policy/policy-config';
import type { ExecutorConfig } from './config.ts';
import type { InputFileSettings } from './input-files/fetch-input-files.ts';
import { openUrlFetcher } from './input-files/fetch-url.ts';

/** How files of inputs are fetched. No URL reaches a service of Runledger that this one knows. */
export const openInputFiles = (
  { config, health, logger }: Pick<ServiceBase<ExecutorConfig>, 'config' | 'health' | 'logger'>,
  open: AsyncDisposableStack,
): InputFileSettings => {
  const own = [
    ...brokerHosts(config.NATS_URL),
    ...httpHost(config.RUNLEDGER_GATEWAY_URL),
    ...httpHost(health),
  ];
  const clock = (): number => performance.now();
  const proxy = config.RUNLEDGER_WEBHOOK_PROXY;
  return {
    log: logger,
    maxBytes: config.EXECUTOR_INPUT_MAX_BYTES,
    fetchUrl: openUrlFetcher({
      policy: policyFromConfig(config, own),
      resolver: open.use(nameResolver({ servers: config.RUNLEDGER_DNS_SERVERS, clock })),
      proxy: proxy === undefined ? undefined : new URL(proxy),
      withinMs: config.EXECUTOR_INPUT_FETCH_S * 1_000,
    }),
  };
};
