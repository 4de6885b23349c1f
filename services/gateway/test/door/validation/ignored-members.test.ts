import { DeploymentRunRequest } from '@runledger/contracts/http/runs/queue-run';
import { NewDeployment } from '@runledger/contracts/http/catalogue/deployments';
import { NewMachine } from '@runledger/contracts/http/catalogue/machines';
import { CancelRunsRequest } from '@runledger/contracts/http/runs/runs';
import { NewWorkflowVersion } from '@runledger/contracts/http/catalogue/workflows';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ignoredMembers, unknownMembers } from '../../../src/door/unknown-names.ts';

describe('the members of a body that an operation ignores', () => {
  it.each<[string | undefined, unknown, unknown]>([
    [
      undefined,
      DeploymentRunRequest,
      { deployment_id: 'x', inputs: { any: { deep: 1 } }, tags: ['a'], webhook: null },
    ],
    ['inputz, weebhook', DeploymentRunRequest, { inputz: {}, inputs: {}, weebhook: 1 }],
    ['retry.attemps, bounds.max', NewDeployment, { retry: { attemps: 1, attempts: 2 }, bounds: { max: 1 } }],
    ['runner.pogram', NewMachine, { runner: { kind: 'program', program: 'p', pogram: 'q' } }],
    [
      'inputs.1.requierd',
      NewWorkflowVersion,
      { workflow: { any: 1 }, inputs: [{ name: 'a' }, { requierd: true }] },
    ],
    [undefined, CancelRunsRequest, { filter: { refused: 1 }, refused: 1 }],
    ['__proto__, constructor', DeploymentRunRequest, JSON.parse('{"__proto__": 1, "constructor": 2}')],
    ['a%2Eb, %C3%BC%2C%20%0D%0A', DeploymentRunRequest, { 'a.b': 1, 'ü, \r\n': 2 }],
    [undefined, DeploymentRunRequest, [1]],
    [undefined, undefined, { a: 1 }],
  ])('are %j', (expected, schema, body) => {
    expect(ignoredMembers(unknownMembers(schema, body))).toBe(expected);
  });

  it('are a header of bounded length and safe characters, whatever their names', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(fc.dictionary(name, fc.constant(1), { maxKeys: 40 }), (body) => {
        const text = ignoredMembers(unknownMembers(DeploymentRunRequest, body)) ?? '';
        expect(text.length).toBeLessThanOrEqual(16 * 133 + 3);
        expect(text).toMatch(/^[\x21-\x7e, ]*$/);
      }),
    );
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`n${index}`, 1]));
    expect(ignoredMembers(unknownMembers(DeploymentRunRequest, many))).toMatch(/^n0, n1, .*, n15, \.\.\.$/);
    expect(ignoredMembers(unknownMembers(DeploymentRunRequest, { ['ü'.repeat(60)]: 1 }))).toMatch(
      /^(%C3%BC)+(%C3)?\.\.\.$/,
    );
  });
});
