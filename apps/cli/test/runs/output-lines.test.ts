import { Value } from 'typebox/value';
import { expect, it } from 'vitest';
import { outputLines, RunResponse } from '../../src/runs/run-response.ts';

it('prints texts, files and JSON values of a run, one line each', () => {
  const file = { url: 'http://box/a.png', filename: 'a.png' };
  const data = { text: ['a fox'], images: [file], json: [{ box: [1, null] }, 'a text', null] };
  const run = { id: 'run', status: 'success', progress: 1, live_status: null, outputs: [{ data }] };
  const { outputs } = RunResponse.properties;
  expect(Value.Check(outputs, run.outputs)).toBe(true);
  expect(Value.Check(outputs, [{ data: { text: [null] } }])).toBe(false);
  expect(outputLines(run as unknown as RunResponse)).toEqual([
    'text: a fox',
    'a.png  http://box/a.png',
    'json: {"box":[1,null]}',
    'json: "a text"',
    'json: null',
  ]);
});
