import { randomFrom, type RandomSource } from '@runledger/testing/random-source';
import { executorsOf } from '../plan/ids.ts';
import type { Plan, PlannedDeployment, PlannedRun } from '../plan/plan.ts';
import { playPlan } from '../simulation/play-plan.ts';
import type { PlayedRun } from '../statistics.ts';

export const MINUTE_MS = 60_000;
const GPU = 'L4';
const SEED = 16;
/** By then the executors have registered: the scenario begins. */
const BEGIN_MS = 60_000;

interface ScenarioOrganisation {
  readonly name: string;
  readonly weight?: number;
  readonly limit?: number;
}

interface ScenarioDeployment extends Partial<
  Pick<PlannedDeployment, 'concurrency_limit' | 'gpu' | 'gpu_fallbacks' | 'version' | 'warm_wait_s'>
> {
  readonly name: string;
  readonly organisation: string;
}

/** Runs of one deployment. */
export interface Arrivals extends Pick<PlannedRun, 'priority' | 'key'> {
  readonly deployment: string;
  readonly fromMinute: number;
  readonly count: number;
  /** Between two of them; 0 for all at once. */
  readonly everyMinutes: number;
  /** Between these two, evenly. */
  readonly minutes: readonly [shortest: number, longest: number];
  /** How long their version loads, in a slot that does not have it loaded; 0 by default. */
  readonly loadMinutes?: number;
}

/** A small installation in which nothing fails. */
export interface Scenario {
  /** So many of one GPU model, or the model of each. */
  readonly slots: number | readonly string[];
  readonly organisations: readonly ScenarioOrganisation[];
  /** One of the name of its organisation when there is none of it here. */
  readonly deployments?: readonly ScenarioDeployment[];
  readonly arrivals: readonly Arrivals[];
}

/** By the scenario: several pictures and numbers may show one. */
const PLAYED = new Map<string, PlayedRun[]>();

/** The same runs each time. */
export const playScenario = (scenario: Scenario): PlayedRun[] => {
  const key = JSON.stringify(scenario);
  const played = PLAYED.get(key) ?? play(scenario);
  PLAYED.set(key, played);
  return played;
};

const play = ({ slots, organisations, deployments, arrivals }: Scenario): PlayedRun[] => {
  const all =
    deployments ?? organisations.map(({ name }): ScenarioDeployment => ({ name, organisation: name }));
  const random = randomFrom(SEED);
  const plan: Plan = {
    seed: SEED,
    heartbeatPeriodMs: 30_000,
    cancelEnforceMs: 20_000,
    delayMs: 2,
    schedulers: [{}],
    executors: typeof slots === 'number' ? executorsOf(slots, GPU) : [{ slots: [...slots] }],
    organisations: organisations.map(({ weight = 1, limit }) => ({
      weight,
      ...(limit !== undefined && { limit }),
    })),
    deployments: all.map(({ organisation, name: _name, ...settings }) => ({
      organisation: organisations.findIndex(({ name }) => name === organisation),
      gpu: GPU,
      max_attempts: 1,
      start_deadline_s: 86_400,
      run_timeout_s: 86_400,
      ...settings,
    })),
    runs: arrivals
      .flatMap((of) =>
        runsOf(
          of,
          all.findIndex(({ name }) => name === of.deployment),
          random,
        ),
      )
      .toSorted((a, b) => a.atMs - b.atMs)
      .map((run, id) => ({ ...run, id })),
    faults: [],
  };
  const names = {
    organisations: organisations.map(({ name }) => name),
    deployments: all.map(({ name }) => name),
  };
  return playPlan(plan, names).map((run) => ({
    ...run,
    queuedMs: run.queuedMs - BEGIN_MS,
    assignedMs: run.assignedMs === null ? null : run.assignedMs - BEGIN_MS,
    endedMs: run.endedMs - BEGIN_MS,
  }));
};

const runsOf = (
  { fromMinute, count, everyMinutes, minutes: [shortest, longest], loadMinutes = 0, priority, key }: Arrivals,
  deployment: number,
  random: RandomSource,
): Omit<PlannedRun, 'id'>[] =>
  Array.from({ length: count }, (_, n) => ({
    atMs: BEGIN_MS + (fromMinute + n * everyMinutes) * MINUTE_MS,
    deployment,
    durationMs: Math.round((shortest + (longest - shortest) * random.fraction()) * MINUTE_MS),
    loadMs: loadMinutes * MINUTE_MS,
    ...(priority !== undefined && { priority }),
    ...(key !== undefined && { key }),
  }));
