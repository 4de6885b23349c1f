import type { CheckName } from '../../../src/checks/violation.ts';

/** A defect that the seeds of the gate must find: a text of a source file, and what stands in its place. */
export interface Mutation {
  readonly defect: string;
  /** One that finds it. It is played first; when it finds it no more, for example after a change of the plans, so are the others. */
  readonly seed: number;
  /** From the root of the repository. The text occurs there once. */
  readonly file: string;
  readonly text: string;
  readonly instead: string;
  /** Which check reports it. */
  readonly check: CheckName;
}

const CORE = 'services/scheduler/src/core';
const GATEWAY = 'services/gateway/src';

export const MUTATIONS: readonly Mutation[] = [
  {
    defect: 'a log that does not check the fence',
    seed: 10,
    file: 'apps/simulate/src/broker/run-log.ts',
    text: "if (head !== expected) return { kind: 'conflict', head };",
    instead: '',
    check: 'one_result',
  },
  {
    defect: 'results of executors are accepted without a fence',
    seed: 10,
    file: 'apps/simulate/src/broker/run-log.ts',
    text: 'if (head !== expected) return',
    instead: "if (head !== expected && event.writer.service !== 'gpu-executor') return",
    check: 'one_result',
  },
  {
    defect: 'an executor that reports a success after a cancel request',
    seed: 198,
    file: 'services/gpu-executor/src/attempt/end-of-attempt.decide.ts',
    text: 'if (attempt.cancel !== null) {',
    instead: 'if (attempt.cancel === undefined) {',
    check: 'one_result',
  },
  {
    defect: 'heartbeat periods that neither a takeover nor a reconnect restarts',
    seed: 2,
    file: `${CORE}/heartbeats.ts`,
    text: 'if (!executor.lossPending) fleet.lastSeen.set(executor, now);',
    instead: '',
    check: 'losses',
  },
  {
    defect: 'a second decision on the same head',
    seed: 129,
    file: `${CORE}/decide.ts`,
    text: 'if (!leading || known.decided) return [];',
    instead: 'if (!leading) return [];',
    check: 'decisions',
  },
  {
    defect: 'a slot that is not free again after its run',
    seed: 0,
    file: `${CORE}/decide.ts`,
    text: '  if (freed) refreshSlot(state.fleet, freed);\n',
    instead: '',
    check: 'slots',
  },
  {
    defect: 'a later run of a deployment that takes a cold slot before the first one has its warm slot',
    seed: 445,
    file: `${CORE}/decide.ts`,
    text: 'better ? fillSlot(',
    instead: 'better && nextFor(state, better).next?.row === next.row ? fillSlot(',
    check: 'placement',
  },
  {
    defect: 'a limit that is counted in the memory of the leader, and starts at 0 after a kill',
    seed: 70,
    file: `${CORE}/runs/live-runs.ts`,
    text: '      this.#queue.hold(known, known.slot.gpu);\n',
    instead: '',
    check: 'limits',
  },
  {
    defect: 'a limit that a run counts for ever when its executor is killed before it begins',
    seed: 13,
    file: `${CORE}/runs/fair-queue.ts`,
    text: 'place.usage.hold(run, -1);',
    instead: "if (run.run.status !== 'started') place.usage.hold(run, -1);",
    check: 'no_idle_slot',
  },
  {
    defect: 'start tags that do not grow, so that a burst is served in one go',
    seed: 39,
    file: `${CORE}/runs/fair-share.ts`,
    text: 'flow.startTag = this.#virtualTime + 1 / weight;',
    instead: '',
    check: 'fairness',
  },
  {
    defect: 'fair shares that are equal, whatever the weights are',
    seed: 26,
    file: `${CORE}/runs/fair-share.ts`,
    text: 'flow.share = (flow.slots + 1) / weight;',
    instead: 'flow.share = flow.slots + 1;',
    check: 'fairness',
  },
  {
    defect: 'a fair share that is rounded up',
    seed: 39,
    file: `${CORE}/runs/fair-share.ts`,
    text: '<= fairShare * (1 + ROUNDING),',
    instead: '<= Math.ceil(fairShare),',
    check: 'fairness',
  },
  {
    defect: 'an organisation that gives all its slots to its first deployment',
    seed: 11,
    file: `${CORE}/runs/fair-queue.ts`,
    text: 'deployments.first(headOf) : undefined',
    instead: 'deployments.flows().map(headOf).find((head) => head !== undefined) : undefined',
    check: 'fairness',
  },
  {
    defect: 'a deployment that starts its runs without a head start for priority',
    seed: 0,
    file: `${CORE}/runs/fair-queue.ts`,
    text: 'if (headStartS === 0) return isFirst;',
    instead: 'if (headStartS === headStartS) return isFirst;',
    check: 'fairness',
  },
  {
    defect: 'a run that is not queued again after its wait for a retry',
    seed: 6,
    file: `${CORE}/runs/live-runs.ts`,
    text: '      this.#wait(known);\n      yield known;',
    instead: '      yield known;',
    check: 'no_idle_slot',
  },
  {
    defect: 'a drained name that its next process does not inherit',
    seed: 179,
    file: `${CORE}/on-fleet-fact.ts`,
    text: 'const drained = state.drained.drainOf(executorName(id)) !== null;',
    instead: 'const drained = false;',
    check: 'drains',
  },
  {
    defect: 'rows of a snapshot that a start forgets',
    seed: 15,
    file: `${CORE}/scheduling.ts`,
    text: 'restore: (pages) => state.runs.restore(pages, state.requests),',
    instead: 'restore: () => undefined,',
    check: 'one_result',
  },
  {
    defect: 'a run that starts before its time',
    seed: 0,
    file: `${CORE}/runs/live-runs.ts`,
    text: 'if (known.run.not_before === null && seconds === 0) return -Infinity;',
    instead: 'if (seconds === 0) return -Infinity;',
    check: 'placement',
  },
  {
    defect: 'a GPU model of a list that is taken before its time',
    seed: 3,
    file: `${CORE}/runs/live-runs.ts`,
    text: 'const from = this.#timeAfter(known, one.after_s);',
    instead: 'const from = this.#timeAfter(known, 0);',
    check: 'placement',
  },
  {
    defect: 'a list of GPU models of which only the first counts',
    seed: 3,
    file: `${CORE}/requirements.ts`,
    text: 'const later = gpu_fallbacks.map((one) => ({',
    instead: 'const later = gpu_fallbacks.slice(8).map((one) => ({',
    check: 'no_idle_slot',
  },
  {
    defect: 'labels that nobody looks at',
    seed: 1,
    file: `${CORE}/requirements.ts`,
    text: 'requirements.labels.every((label) => capabilities.labels.has(label))',
    instead: 'true',
    check: 'placement',
  },
  {
    defect: 'a cold slot while a warm one is free',
    seed: 8,
    file: `${CORE}/free-slots.ts`,
    text: "return this.#first('free', requirements, version);",
    instead: 'return undefined;',
    check: 'placement',
  },
  {
    defect: 'a wait for a warm slot that is there no more',
    seed: 50,
    file: `${CORE}/free-slots.ts`,
    text: "if (use === 'busy') this.#vanished.add(version);",
    instead: '',
    check: 'no_idle_slot',
  },
  {
    defect: 'an executor that begins what a former leader assigns',
    seed: 41,
    file: 'services/gpu-executor/src/attempt/assignment.decide.ts',
    text: 'return isLater || term < this.#registered;',
    instead: 'return isLater && term < this.#registered;',
    check: 'limits',
  },
  {
    defect: 'a leader that decides before the executors know its term',
    seed: 395,
    file: `${CORE}/former-executors.ts`,
    text: 'return [...registered, ...lost];',
    instead: 'return lost.slice(lost.length);',
    check: 'limits',
  },
  {
    defect: 'a run that expires by a view which does not know the end that the archive has',
    seed: 140,
    file: `${GATEWAY}/runs/facts/expiring.decide.ts`,
    text: 'if (!areViewsComplete || !view) return',
    instead: 'if (!view) return',
    check: 'ends_once',
  },
  {
    defect: 'views that go on behind what left the log, and forget that they lack it',
    seed: 134,
    file: `${GATEWAY}/views/projection-start.decide.ts`,
    text: 'counts: NO_RUNS, missed };',
    instead: 'counts: NO_RUNS, missed: null };',
    check: 'shown',
  },
  {
    defect: 'reads that take views for complete while they lack what the archive has',
    seed: 734,
    file: `${GATEWAY}/views/projection-start.decide.ts`,
    text: 'position.missed === null && ',
    instead: '',
    check: 'shown',
  },
];
