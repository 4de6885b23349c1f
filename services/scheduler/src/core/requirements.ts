import type { ExecutorRegistered } from '@runledger/contracts/events/fleet-event';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { OrgId } from '@runledger/contracts/ids';
import type { Run } from '@runledger/contracts/fold/run';
import { runnerKindOf, type RunnerChoice } from '@runledger/contracts/catalogue/runners';

/** What a run requires of an executor. */
export interface Requirements {
  readonly org_id: OrgId;
  readonly gpu: GpuModel;
  readonly machine_id: string;
  readonly machine_name: string;
  readonly runner: RunnerChoice;
  /** All of them. */
  readonly labels: readonly string[];
  /** In order, what it requires beside that: on other GPU models, after so many seconds of waiting. */
  readonly later: readonly LaterRequirements[];
}

interface LaterRequirements {
  readonly after_s: number;
  readonly requirements: Requirements;
}

export const requirementsOf = ({ org_id, request }: Pick<Run, 'org_id' | 'request'>): Requirements => {
  const { gpu, machine_id, machine_name, runner, labels = [], gpu_fallbacks = [] } = request;
  const first = { org_id, gpu, machine_id, machine_name, runner, labels, later: NOTHING_LATER };
  const later = gpu_fallbacks.map((one) => ({
    after_s: one.after_s,
    requirements: { ...first, gpu: one.gpu },
  }));
  return { ...first, later };
};

const NOTHING_LATER: readonly LaterRequirements[] = [];

/** What the run requires on each of its GPU models, in order. */
export const allRequirements = (first: Requirements): Requirements[] => [
  first,
  ...first.later.map(({ requirements }) => requirements),
];

/** What it requires of a slot of this model. */
export const requirementsOn = (first: Requirements, gpu: GpuModel): Requirements =>
  allRequirements(first).find((one) => one.gpu === gpu) ?? { ...first, gpu, later: NOTHING_LATER };

/** Equal for equal requirements. */
export const requirementsKey = ({
  org_id,
  gpu,
  machine_id,
  machine_name,
  runner,
  labels,
  later,
}: Requirements): string =>
  JSON.stringify([
    org_id,
    gpu,
    machine_id,
    machine_name,
    runner.kind,
    runnerKindOf(runner).capability(runner),
    labels.toSorted(),
    later.map(({ after_s, requirements }) => [requirements.gpu, after_s]),
  ]);

/** What an executor registered that it can do, as sets for fast checks. */
export interface Capabilities {
  readonly gpus: ReadonlySet<GpuModel>;
  readonly machines: ReadonlySet<string>;
  readonly programs: ReadonlySet<string>;
  readonly labels: ReadonlySet<string>;
  /** Who may use a program that not every organisation may use. */
  readonly dedicated: ReadonlyMap<string, ReadonlySet<string>>;
}

export const capabilitiesOf = ({
  slots,
  machines,
  programs,
  labels = [],
  dedicated,
}: ExecutorRegistered): Capabilities => ({
  gpus: new Set(slots.map(({ gpu }) => gpu)),
  machines: new Set(machines),
  programs: new Set(programs),
  labels: new Set(labels),
  dedicated: new Map(
    Object.entries(dedicated).map(([name, organisations]) => [name, new Set(organisations)]),
  ),
});

/** Equal for equal capabilities. */
export const capabilitiesKey = ({ gpus, machines, programs, labels, dedicated }: Capabilities): string =>
  JSON.stringify([
    ...[gpus, machines, programs, labels].map((names) => [...names].toSorted()),
    [...dedicated].map(([name, organisations]) => [name, ...[...organisations].toSorted()].join()).toSorted(),
  ]);

/** Whether the executor can execute such a run, whether a slot is free or not. */
export const canServe = (capabilities: Capabilities, requirements: Requirements): boolean =>
  capabilities.gpus.has(requirements.gpu) &&
  servesMachine(capabilities, requirements) &&
  hasRunner(capabilities, requirements) &&
  requirements.labels.every((label) => capabilities.labels.has(label));

export const servesMachine = (
  { machines }: Capabilities,
  { org_id, machine_id, machine_name }: Requirements,
): boolean => machines.has('*') || machines.has(machine_id) || machines.has(`${org_id}/${machine_name}`);

export const hasRunner = (
  { programs, dedicated }: Capabilities,
  { org_id, runner }: Requirements,
): boolean => {
  const capability = runnerKindOf(runner).capability(runner);
  return programs.has(capability) && (dedicated.get(capability)?.has(org_id) ?? true);
};
