import { endReasonOf } from '@runledger/contracts/events/run-error';
import type { Check, Violation } from '../evidence/evidence.ts';
import { factsUntilEnd, type LoggedRun } from '../evidence/logged-run.ts';

const guarantee = "At most one executor's result counts, and attempts are numbered.";

const RESULTS: ReadonlySet<string> = new Set(['RunSucceeded', 'RunFailed', 'RunCancelled']);

export const attempts: Check = ({ runs, programStarts }) => {
  const violations: Violation[] = [];
  const starts = Map.groupBy(programStarts, ({ run }) => run);
  for (const [run, lines] of starts) {
    if (!runs.has(run))
      violations.push({
        guarantee,
        run,
        message: `A program started ${lines.length} times for a run that the log does not have.`,
      });
  }
  for (const [run, logged] of runs) {
    const numbers = (starts.get(run) ?? []).map(({ attempt }) => attempt);
    for (const message of [
      ...wrongNumbers(logged),
      ...wrongResults(logged),
      ...unexpectedStarts(logged, numbers),
    ])
      violations.push({ guarantee, run, message });
  }
  return violations;
};

const assignedIn = ({ facts }: LoggedRun) => facts.filter(({ event }) => event.type === 'RunAssigned');

const wrongNumbers = (logged: LoggedRun): string[] => {
  const numbers = assignedIn(logged).map(({ event }) => event.attempt);
  return numbers.every((number, at) => number === at + 1)
    ? []
    : [`Its attempts have the numbers ${numbers.join(', ')}.`];
};

const wrongResults = (logged: LoggedRun): string[] => {
  const results = logged.facts.filter(({ event }) => RESULTS.has(event.type));
  const [result, second] = results;
  if (result === undefined) return [];
  if (second) return [`It has ${results.length} results of executors.`];
  const last = assignedIn(logged).at(-1)?.event;
  const { event } = result;
  if (event.attempt !== last?.attempt || event.executor_id !== last.executor_id)
    return [
      `The result is from attempt ${event.attempt} on ${event.executor_id}, but another attempt was running.`,
    ];
  return wrongOutcome(logged);
};

/** The inputs decide how the program ends. Its output names its attempt. */
const wrongOutcome = (logged: LoggedRun): string[] => {
  const { facts, key } = logged;
  const event = factsUntilEnd(logged).at(-1)?.event;
  const queued = facts[0]?.event;
  const requested = queued?.type === 'RunQueued' ? queued.data.inputs?.['what'] : undefined;
  if (event?.type === 'RunSucceeded') {
    const { outputs } = event.data;
    // The check of views is about what the list holds.
    if (outputs === null) return [];
    const texts = outputs.flatMap(({ data }) => data['text'] ?? []);
    const expected = `${key.run_id}.${event.attempt}`;
    if (requested === 'failure') return ['It succeeded, but its inputs request a failure.'];
    return texts.includes(expected)
      ? []
      : [`It succeeded with ${JSON.stringify(texts)}, expected ${expected}.`];
  }
  // A run with a file may fail: the gateway may be down for longer than an executor waits.
  if (
    event?.type === 'RunFailed' &&
    endReasonOf(event.data.error.kind) === 'workflow_error' &&
    requested === 'success'
  )
    return [`It failed, but its inputs request a success: ${event.data.error.message}`];
  return [];
};

const unexpectedStarts = (logged: LoggedRun, numbers: readonly number[]): string[] => {
  const assigned = new Set(assignedIn(logged).map(({ event }) => event.attempt));
  const twice = numbers.filter((number, at) => numbers.indexOf(number) !== at);
  return [
    ...numbers
      .filter((number) => !assigned.has(number))
      .map((number) => `A program started attempt ${number}, which was never assigned.`),
    ...twice.map((number) => `A program started attempt ${number} twice.`),
  ];
};
