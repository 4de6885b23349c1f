import { describe, expect, it } from 'vitest';
import type { EndedRun } from '../../../src/fold/run.ts';
import { compiledSchema } from '../../../src/compiled-schema.ts';
import { OutputItem } from '../../../src/http/runs/run-outputs.ts';
import { outputsResponse } from '../../../src/http/runs/run-response.ts';
import { textOutputs } from '../../deliveries/payload-inputs.ts';

const shown = (data: Record<string, string[]>): OutputItem['data'] | undefined => {
  const [output] = textOutputs('');
  const outputs = output === undefined ? [] : [{ ...output, data }];
  const run = { run_id: output?.id, ended_at: '2026-01-01T00:00:00.000Z', outputs } as unknown as EndedRun;
  const [item] = outputsResponse(run, () => '');
  expect(compiledSchema(OutputItem).Check(item)).toBe(true);
  return item?.data;
};

describe('the outputs that a run shows', () => {
  it('have the values of the kind json as they are, and texts under every other kind', () => {
    const texts = ['{"boxes":[[1,2]],"url":"https://x.example"}', '"a text"', 'null', '0.5'];
    expect(shown({ json: texts, text: ['{"a":1}'] })).toEqual({
      json: [{ boxes: [[1, 2]], url: 'https://x.example' }, 'a text', null, 0.5],
      text: ['{"a":1}'],
    });
  });

  it('show a text of the kind json that is none, as in a masked copy of the log', () => {
    expect(shown({ json: ['3f2a'], __proto__: [] })).toEqual({ json: ['3f2a'] });
  });
});
