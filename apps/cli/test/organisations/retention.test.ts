import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aRealGateway } from '../fixtures/real-gateway.ts';
import type { RealGateway } from '../fixtures/real-gateway.ts';

let gateway: RealGateway;
beforeAll(async () => {
  gateway = await aRealGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

const cells = (stdout: string): string[][] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/ {2,}/));

describe('runledger retention', () => {
  it('shows for how long runs and files are kept, and changes it', async () => {
    const { code, stdout } = await gateway.cli(['retention', 'show']);
    expect(code).toBe(0);
    expect(cells(stdout)).toEqual([
      ['WHAT', 'DAYS', 'CHOSEN', 'LEAST', 'MOST'],
      ['runs_days', '90', '-', '7', '90'],
      ['outputs_days', '90', '-', '1', '90'],
    ]);
    const changed = await gateway.cli(['retention', 'update', '--runs-days', '30', '--outputs-days', '3']);
    expect(cells(changed.stdout)).toContainEqual(['outputs_days', '3', '3', '1', '30']);
    const json = JSON.parse(
      (await gateway.cli(['retention', 'update', '--no-outputs-days', '--json'])).stdout,
    );
    expect(json).toEqual(await gateway.read('/retention'));
    expect(json).toMatchObject({ runs_days: { chosen: 30 }, outputs_days: { days: 30, chosen: null } });
  });

  it.each([
    [['--runs-days', '3'], 'choose 7 or more'],
    [['--runs-days', 'many'], '--runs-days many is not a whole number'],
    [[], 'Use --runs-days or --outputs-days'],
  ])('explains what is wrong with %j', async (options, why) => {
    const { code, stderr } = await gateway.cli(['retention', 'update', ...options]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(why)]);
  });
});
