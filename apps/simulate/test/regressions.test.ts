import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { StoredPlan } from '../src/plan/plan.ts';
import { storyOf } from '../src/simulation/find-violation.ts';
import { simulate } from '../src/simulation/simulate.ts';

const FOLDER = join(import.meta.dirname, 'regressions');
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));

const planIn = (name: string): StoredPlan =>
  Value.Parse(StoredPlan, JSON.parse(readFileSync(join(FOLDER, name), 'utf8')));

describe('plans that violated something once', () => {
  it('are plans', () => {
    expect(files.map(planIn)).toHaveLength(files.length);
  });

  it.each(files)('violate nothing: %s', (name) => {
    const plan = planIn(name);
    const { violation } = simulate(plan);
    expect(violation, storyOf(plan).join('\n')).toBeUndefined();
  });
});
