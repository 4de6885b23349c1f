import {
  Instance,
  InstancesRequest,
  instancesSubject,
  MAX_LISTED_PROBLEMS,
  type ServiceWithInstances,
} from '@runledger/contracts/requests/instances';
import { errorMessage } from '@runledger/contracts/events/run-error';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { within } from '@runledger/resilience/within';
import { parserOf, type Endpoint, gatherResponses, respond } from './endpoint.ts';

const endpointOf = (service: ServiceWithInstances): Endpoint<InstancesRequest, Instance> => ({
  subject: instancesSubject(service),
  description: `the instances of the ${service}`,
  parseRequest: parserOf(InstancesRequest),
  parseResponse: parserOf(Instance),
});

type Check = { readonly ok: true } | { readonly ok: false; readonly why: string };

/** What a process knows of itself. */
export interface OwnInstance {
  readonly service: ServiceWithInstances;
  readonly instance: string;
  readonly startedAt: Date;
  readonly software_version: string;
  /** Of `/readyz`. */
  readonly readiness: () => Promise<{ readonly checks: Readonly<Record<string, Check>> }>;
  /** What it does now; what is left out does not apply. */
  readonly doing: () => Partial<Pick<Instance, 'leads' | 'term' | 'position' | 'partitions'>>;
}

/** A slow check must not make the process look gone. */
const CHECKS_WITHIN_MS = 300;
const SLOW: Readonly<Record<string, Check>> = {
  checks: { ok: false, why: `a check takes longer than ${CHECKS_WITHIN_MS} ms` },
};

/** Says on request that this process is there, until it is disposed of. */
export const respondAsInstance = (log: EventLog, own: OwnInstance): Disposable =>
  respond(log, endpointOf(own.service), async (): Promise<Instance> => {
    const checks = own.readiness().then((readiness) => readiness.checks);
    const outcomes = Object.entries(await within(CHECKS_WITHIN_MS, checks, () => SLOW));
    const problems = outcomes.flatMap(([check, outcome]) =>
      outcome.ok ? [] : [{ check: check.slice(0, 100), why: errorMessage(outcome.why) }],
    );
    return {
      instance: own.instance,
      software_version: own.software_version,
      started_at: own.startedAt.toISOString(),
      ready: problems.length === 0,
      problems: problems.slice(0, MAX_LISTED_PROBLEMS),
      leads: null,
      term: null,
      position: null,
      partitions: null,
      ...own.doing(),
    };
  });

/** The processes of a service that respond in time, in the order of their names. Empty while none does. */
export const requestInstances = async (
  log: EventLog,
  service: ServiceWithInstances,
  within: { readonly totalMs: number; readonly quietMs: number; readonly most: number },
): Promise<readonly Instance[]> => {
  const instances = await gatherResponses(log, endpointOf(service), {}, within);
  return instances.toSorted((a, b) => (a.instance < b.instance ? -1 : 1));
};
