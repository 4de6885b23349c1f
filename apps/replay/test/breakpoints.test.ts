import { beforeAll, describe, expect, it } from 'vitest';
import { breakpointOf } from '../src/breakpoints.ts';
import { momentsOf, type Moment } from '../src/moments.ts';
import { playSlice } from '../src/play-slice.ts';
import { sampleOptions } from './fixtures/sample-slice.ts';

const moments: Moment[] = [];
beforeAll(async () => {
  for await (const moment of momentsOf(playSlice(await sampleOptions()))) moments.push(moment);
});

const stopsAt = (text: string): Moment[] => moments.filter(breakpointOf(text));
const typesAt = (text: string): unknown[] => stopsAt(text).map(({ fact }) => Object(fact.event).type);

describe('a breakpoint', () => {
  it('stops at facts of a type', () => {
    expect(new Set(typesAt('fact=ExecutorLost'))).toEqual(new Set(['ExecutorLost']));
    expect(typesAt('fact=RunGivenUp')).toHaveLength(1);
  });

  it('stops at the facts of a run', () => {
    const [{ run } = {}] = stopsAt('fact=RunGivenUp');
    expect(typesAt(`run=${run?.run_id.toUpperCase()}`)).toEqual([
      'RunQueued',
      'RunAssigned',
      'RunStarted',
      'RunGivenUp',
    ]);
  });

  it('stops at a position of RUNS', () => {
    expect(stopsAt('position=3').map(({ fact }) => [fact.stream, fact.sequence])).toEqual([['RUNS', 3]]);
  });

  it('stops where an expression over the fact, the run and the decision is true', () => {
    const second = stopsAt('fact.type == "RunAssigned" && fact.attempt > 1');
    expect(second.length).toBeGreaterThan(2);
    expect(second.every(({ fact }) => Object(fact.event).attempt > 1)).toBe(true);
    expect(new Set(typesAt('run.status == "timeout"'))).toEqual(new Set(['RunTimedOut', 'RunFailed']));
    const decided = stopsAt('decision.kind == "equal" && decision.recorded.type == "RunRequeued"');
    expect(new Set(decided.map(({ fact }) => Object(fact.event).type))).toEqual(new Set(['RunRequeued']));
    expect(stopsAt('run == null && fact.stream == "FLEET"')).toHaveLength(
      moments.filter(({ fact }) => fact.stream === 'FLEET').length,
    );
  });

  it('does not stop where an expression names what is not there', () => {
    expect(stopsAt('fact.data.no_such_member == 1')).toEqual([]);
  });

  it.each([
    ['fact=Nothing', 'fact=Nothing is no type of a fact, such as RunAssigned or ExecutorLost.'],
    ['run=7', 'run=7 is no run id. A run id is a UUID.'],
    ['position=0', 'position=0 is no position of RUNS, which are from 1.'],
    ['fact.type ==', 'fact.type == is no breakpoint: Unexpected token: EOF. Write fact=TYPE, run=ID'],
    ['process.exit()', 'process.exit() is no breakpoint: Unknown variable: process.'],
    ['1 + 1', '1 + 1 is no breakpoint: it is a int, not true or false.'],
    [`fact.type == "${'x'.repeat(1_000)}"`, 'A breakpoint has at most 1000 characters'],
    [Array.from({ length: 300 }, () => 'true').join('&&'), 'A breakpoint has at most 1000 characters'],
    [`${'('.repeat(200)}true${')'.repeat(200)}`, 'is no breakpoint: '],
  ])('refuses %s with a sentence', (text, sentence) => {
    expect(() => breakpointOf(text)).toThrow(sentence);
  });
});
