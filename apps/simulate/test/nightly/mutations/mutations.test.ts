import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { parseJson } from '@runledger/contracts/json';
import { GATE_SEEDS } from '../../system/gate-seeds.ts';
import { MUTATIONS } from './mutations.ts';

const FIND_MUTANT = join(import.meta.dirname, 'find-mutant.ts');

it.for(MUTATIONS)('a seed finds $defect', { timeout: 300_000 }, async (mutation, { signal }) => {
  const { file, text, instead, check, seed } = mutation;
  const args = [FIND_MUTANT, file, text, instead, check, String(seed), String(GATE_SEEDS)];
  expect(seed).toBeLessThan(GATE_SEEDS);
  // A mutant may never end.
  const { stdout } = await promisify(execFile)(process.execPath, args, { signal });
  expect(parseJson(stdout)).toHaveProperty('seed');
});
