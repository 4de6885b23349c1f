import { Environment } from '@marcbachmann/cel-js';
import { RUN_EVENTS } from '@runledger/contracts/events/run-event';
import { isRunId } from '@runledger/contracts/ids';
import { messageOf } from '@runledger/resilience/errors';
import type { Moment } from './moments.ts';

/** A breakpoint is not written as one, or its expression is not valid. */
export class InvalidBreakpoint extends Error {
  override readonly name = 'InvalidBreakpoint';
}

export type Breakpoint = (moment: Moment) => boolean;

const MAX_LENGTH = 1_000;

/** What an expression may name. CEL has neither loops without an end nor side effects, and these bound its size. */
const environment = new Environment({ limits: { maxAstNodes: 500, maxDepth: 50 } })
  .registerVariable('fact', 'dyn')
  .registerVariable('run', 'dyn')
  .registerVariable('decision', 'dyn');

/**
 * `fact=RunAssigned`, `run=ID`, `position=42`, or an expression in CEL over `fact` (the event, with `position`, `time` and `stream`), `run` (as it is after
 * the fact; null for a fact of an executor) and `decision` (what came of comparing one now; null without one). @throws {InvalidBreakpoint}
 */
export const breakpointOf = (text: string): Breakpoint => {
  if (text.length > MAX_LENGTH)
    throw new InvalidBreakpoint(
      `A breakpoint has at most ${MAX_LENGTH} characters, and this one has ${text.length}.`,
    );
  const [, name, value = ''] = /^(fact|run|position)=([^=\s]+)$/.exec(text) ?? [];
  if (name === 'fact') return ofType(value);
  if (name === 'run') return ofRun(value);
  return name === 'position' ? ofPosition(value) : ofExpression(text);
};

const ofType = (type: string): Breakpoint => {
  const isKnown =
    Object.hasOwn(RUN_EVENTS, type) || /^Executor[A-Z]/.test(type) || /^Webhook[A-Z]/.test(type);
  if (!isKnown)
    throw new InvalidBreakpoint(`fact=${type} is no type of a fact, such as RunAssigned or ExecutorLost.`);
  return ({ fact }) => Object(fact.event).type === type;
};

const ofRun = (id: string): Breakpoint => {
  const wanted = id.toLowerCase();
  if (!isRunId(wanted)) throw new InvalidBreakpoint(`run=${id} is no run id. A run id is a UUID.`);
  return ({ fact, verdicts }) =>
    Object(fact.event).run_id === wanted || verdicts.some(({ run_id }) => run_id === wanted);
};

const ofPosition = (text: string): Breakpoint => {
  const position = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (position < 1) throw new InvalidBreakpoint(`position=${text} is no position of RUNS, which are from 1.`);
  return ({ fact }) => fact.stream === 'RUNS' && fact.sequence === position;
};

const ofExpression = (text: string): Breakpoint => {
  const evaluate = parsed(text);
  return ({ fact, run, verdicts }) => {
    const { sequence, time, stream, event } = fact;
    const about = { ...event, position: sequence, time, stream };
    const context = { fact: about, run: run ?? null };
    return [...verdicts, null].some((decision) => {
      try {
        return evaluate({ ...context, decision }) === true;
      } catch {
        // It names what this fact does not have.
        return false;
      }
    });
  };
};

const parsed = (text: string): ((context: object) => unknown) => {
  const checked = environment.check(text);
  if (!checked.valid) throw invalid(text, messageOf(checked.error).split('\n')[0] ?? '');
  if (checked.type !== 'bool' && checked.type !== 'dyn')
    throw invalid(text, `it is a ${checked.type}, not true or false`);
  return environment.parse(text);
};

const invalid = (text: string, why: string): InvalidBreakpoint =>
  new InvalidBreakpoint(
    `${text} is no breakpoint: ${why}. Write fact=TYPE, run=ID, position=N, or an expression over fact, run and decision, such as fact.type == "RunAssigned" && fact.attempt > 1.`,
  );
