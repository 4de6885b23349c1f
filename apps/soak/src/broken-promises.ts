import { isEnded, type EndedRun } from '@runledger/contracts/fold/run';
import type { Resource } from '@runledger/contracts/http/organisations';
import type { Evidence, Promises } from './evidence/evidence.ts';
import { lastOf, type LoggedRun } from './evidence/logged-run.ts';
import type { LimitChange } from './faults/limit-changes.ts';

/**
 * What a soak was to show and did not, in words. Then no violation proves nothing: a store that was never full refused nobody, and a
 * log that forgot nothing lost nothing.
 */
export const brokenPromises = (evidence: Evidence): string[] => [
  ...neverLimited(evidence),
  ...neverLost(evidence),
  ...neverHit(evidence),
  ...neverFailed(evidence),
  ...lostUnarchived(evidence),
];

/**
 * Faults that changed nothing, in words, also when another one of their kind did. What the glutton takes depends on how busy the
 * machine is, so a quota that it did not reach is among them.
 */
export const withoutEffect = (evidence: Evidence): string[] => [
  ...evidence.limits.filter(({ hadEffect }) => !hadEffect).map(({ store, kind }) => `${store} ${kind}`),
  ...evidence.faults.outages
    .filter(({ changedNothing }) => changedNothing)
    .map(({ part, kind }) => `${part} ${kind}`),
  ...evidence.archive.faults.filter(({ wrong }) => wrong === 0).map(({ kind }) => `archive ${kind}`),
  ...[...quotaRefusals(evidence)].flatMap(([resource, count]) =>
    count === 0 ? [`quota of ${resource}`] : [],
  ),
  ...evidence.faults.missed.map(({ part, kind }) => `${part} ${kind} (it was down)`),
];

/** Of what was planned, the names of what never came true. */
const missingOf = (planned: readonly string[], came: readonly string[]): string[] =>
  [...new Set(planned)].filter((name) => !came.includes(name));

const neverLimited = ({ promises, limits }: Evidence): string[] =>
  missingOf(promises.limits.map(nameOf), limits.filter(({ hadEffect }) => hadEffect).map(nameOf)).map(
    (name) => `${name} was planned, and never came true.`,
  );

/** Where views are lost too, nothing can have these facts: whoever reads the log lacks runs that were accepted. */
const lostUnarchived = ({ unarchived, size }: Evidence): string[] =>
  unarchived === 0
    ? []
    : [
        `The machine is too slow for a log that forgets after ${size.shortLogAgeMs / 1_000} s: ${unarchived} messages left it before they were archived.`,
      ];

const neverHit = ({ promises, brokerFaults }: Evidence): string[] =>
  missingOf(
    promises.brokerFaults.map(brokerFaultName),
    brokerFaults.filter(({ hadEffect }) => hadEffect).map(brokerFaultName),
  ).map((name) => `Of the brokers ${name} was planned, and never came true.`);

/** Of what was to fail, nobody asked for an object, or nobody was told of it, or nothing else went on. A missing one is asked for only if the log has forgotten its run. */
const neverFailed = ({ promises, archive: { faults, named } }: Evidence): string[] => {
  if (promises.archive.length === 0) return [];
  const came = faults.filter(({ wrong }) => wrong > 0).map(({ kind }) => kind);
  const isTold = named.some(({ org_ids }) => org_ids.length > 0);
  return [
    ...missingOf(promises.archive, [...came, 'missing']).map(
      (kind) => `Archived objects were to be ${kind}, and nobody asked for one.`,
    ),
    ...(isTold ? [] : ['No organisation was named as behind while its objects failed.']),
    ...(faults.some(({ others }) => others > 0) ? [] : ['While objects failed, nothing else was archived.']),
  ];
};

/** Such as `kill leader`. */
export const brokerFaultName = ({ kind, victims }: Promises['brokerFaults'][number]): string =>
  `${kind} ${victims}`;

const nameOf = ({ store, kind }: Pick<LimitChange, 'store' | 'kind'>): string => `${store} ${kind}`;

const neverLost = ({ promises, faults }: Evidence): string[] => {
  const lost = faults.outages.some(
    ({ role, kind, changedNothing }) =>
      role === 'database' && (kind === 'empty' || kind === 'restore') && !changedNothing,
  );
  return promises.databaseLosesData && !lost ? ['The database was to lose its data, and kept it.'] : [];
};

/** By the words of the gateway. */
const REFUSALS: Readonly<Record<Resource, RegExp>> = {
  queued_runs: /limit of queued runs/,
  catalogue_records:
    /machines, workflows, versions and deployments, archived ones included, which is its limit/,
  schedules: /schedules, which is its limit/,
  secrets: /secrets, which is its limit/,
  workflow_bytes: /The workflows of the organisation, .* would have more than its limit/,
  blob_bytes: /the inputs and lists of outputs of the organisation would have more than its/,
  output_bytes: /more output files than its quota/,
  files: /files and uploads, which is its limit/,
  file_bytes: /the files and uploads of the organisation would have more than its limit/,
  model_bytes: /the models of the organisation would have more than its limit/,
  uploads: /uploads in progress at this gateway, which is its limit/,
  streams: /its limit of open streams/,
};

/** How often the glutton was refused something for each of its quotas: by a gateway, or one of its attempts. */
export const quotaRefusals = ({
  records,
  runs,
  glutton_id,
  refusedUploads,
}: Evidence): ReadonlyMap<string, number> => {
  const own = [...runs.values()].filter(({ key }) => key.org_id === glutton_id);
  const texts = [
    ...records.takings.map(({ why }) => why),
    ...own.map((logged) => endOf(logged)?.error?.message ?? ''),
    ...refusedUploads.filter(({ run }) => runs.get(run)?.key.org_id === glutton_id).map(({ why }) => why),
  ];
  return new Map(
    Object.entries(REFUSALS).map(([resource, text]) => [
      resource,
      texts.filter((one) => text.test(one)).length,
    ]),
  );
};

const endOf = (logged: LoggedRun): EndedRun | undefined => {
  const run = lastOf(logged);
  return run && isEnded(run) ? run : undefined;
};
