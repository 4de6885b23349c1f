import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aRealGateway } from '../fixtures/real-gateway.ts';
import type { RealGateway } from '../fixtures/real-gateway.ts';

let gateway: RealGateway;
beforeAll(async () => {
  gateway = await aRealGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

describe('runledger usage', () => {
  it('shows what the organisation uses and may use of each resource, or prints it as JSON', async () => {
    await gateway.cli(['queue', '--deployment', gateway.deployment_id]);
    const { code, stdout } = await gateway.cli(['usage']);
    const [head, ...rows] = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    expect([code, head]).toEqual([0, ['RESOURCE', 'USED', 'LIMIT', 'UNIT']]);
    expect(rows).toContainEqual(['queued_runs', '1', '100000', 'runs']);
    expect(rows).toContainEqual(['output_bytes', '0', '1073741824', 'bytes']);
    const json = JSON.parse((await gateway.cli(['usage', '--json'])).stdout);
    expect(json).toEqual(await gateway.read('/usage'));
    expect(Object.keys(json)).toEqual(rows.map(([resource]) => resource));
  });
});
