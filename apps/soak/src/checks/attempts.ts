import type { Check, Violation } from '../evidence/evidence.ts';
import type { LoggedRun } from '../evidence/logged-run.ts';

const guarantee = "At most one executor's result counts, and attempts are numbered.";

const RESULTS: ReadonlySet<string> = new Set(['RunSucceeded', 'RunFailed', 'RunCancelled']);

export const attempts: Check = ({ runs, diary }) => {
  const violations: Violation[] = [];
  const begun = Map.groupBy(diary, ({ run }) => run);
  for (const [run, lines] of begun) {
    if (!runs.has(run))
      violations.push({
        guarantee,
        run,
        says: `A program began ${lines.length} times for a run that the log does not have.`,
      });
  }
  for (const [run, logged] of runs) {
    const numbers = (begun.get(run) ?? []).map(({ attempt }) => attempt);
    for (const says of [
      ...wrongNumbers(logged),
      ...wrongResults(logged),
      ...wrongBeginnings(logged, numbers),
    ])
      violations.push({ guarantee, run, says });
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
      `The result is that of attempt ${event.attempt} on ${event.executor_id}, and another one was under way.`,
    ];
  return wrongOutcome(logged);
};

/** The program says which attempt it was, and was asked for how it should end. */
const wrongOutcome = ({ facts, key }: LoggedRun): string[] => {
  const { event } = facts.at(-1) ?? {};
  const queued = facts[0]?.event;
  const asked = queued?.type === 'RunQueued' ? queued.data.inputs['what'] : undefined;
  if (event?.type === 'RunSucceeded') {
    const texts = event.data.outputs.flatMap(({ data }) => data['text'] ?? []);
    const expected = `${key.run_id}.${event.attempt}`;
    if (asked === 'failure') return ['It succeeded, and its program was asked to fail.'];
    return texts.includes(expected)
      ? []
      : [`It succeeded with ${JSON.stringify(texts)} and not with ${expected}.`];
  }
  // What a file is stored in may be away for longer than an executor waits.
  if (event?.type === 'RunFailed' && event.data.reason === 'workflow_error' && asked === 'success')
    return [`It failed, and its program was asked to succeed: ${event.data.message}`];
  return [];
};

const wrongBeginnings = (logged: LoggedRun, numbers: readonly number[]): string[] => {
  const assigned = new Set(assignedIn(logged).map(({ event }) => event.attempt));
  const twice = numbers.filter((number, at) => numbers.indexOf(number) !== at);
  return [
    ...numbers
      .filter((number) => !assigned.has(number))
      .map((number) => `A program began attempt ${number}, which was never assigned.`),
    ...twice.map((number) => `A program began attempt ${number} twice.`),
  ];
};
