import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compiledSchema } from '../../src/compiled-schema.ts';
import { RunOutput } from '../../src/events/run-event-data.ts';
import type { JsonObject } from '../../src/json.ts';
import { Masks } from '../../src/slices/slice.ts';
import { maskedInputs, maskedOutput } from '../../src/slices/redaction-rules.ts';
import { anEvent } from '../fixtures/run-events.ts';
import { pseudonym } from '../fixtures/slice-content.ts';

const file = {
  key: 'k'.repeat(43),
  filename: 'cat.png',
  subfolder: 'pets',
  content_type: 'image/png',
  bytes: 7,
  sha256: 'd'.repeat(64),
  type: 'output',
  upload_duration: 1,
} as const;
const output: RunOutput = {
  id: anEvent('RunQueued').run_id,
  output_id: '9',
  node_id: '9',
  node_meta: { title: 'Cats', size: { w: 1 } },
  type: null,
  data: { text: ['a cat', 'a dog'], files: [file] },
};

describe('masks of inputs', () => {
  it.each([
    ['/prompt', { prompt: pseudonym('a cat') }],
    ['/seed', { seed: pseudonym('7') }],
    ['/people/0/name', { people: [{ name: pseudonym('Ada') }, { name: 'Bob' }] }],
    ['/people/*/name', { people: [{ name: pseudonym('Ada') }, { name: pseudonym('Bob') }] }],
    ['/people', { people: pseudonym('[{"name":"Ada"},{"name":"Bob"}]') }],
    ['/a~1b/~0c', { 'a/b': { '~c': pseudonym('1') } }],
    ['/none/below', {}],
    ['/prompt/below', {}],
  ])('%s replaces what it names', (pointer, changed) => {
    const inputs = {
      prompt: 'a cat',
      seed: 7,
      people: [{ name: 'Ada' }, { name: 'Bob' }],
      'a/b': { '~c': 1 },
    };
    expect(maskedInputs(inputs, [pointer], pseudonym)).toEqual({ ...inputs, ...changed });
  });

  it('leave nothing of a member, however it is nested', () => {
    const inputs = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(inputs, (values) => {
        const masked = maskedInputs(values as JsonObject, ['/*'], pseudonym);
        expect(Object.keys(masked)).toEqual(Object.keys(values));
        for (const value of Object.values(masked)) expect(value).toMatch(/^[0-9a-f]{32}$/);
      }),
    );
  });

  it('do not change the prototype of anything', () => {
    const inputs = JSON.parse('{"__proto__": {"a": 1}}') as JsonObject;
    expect(JSON.stringify(maskedInputs(inputs, ['/__proto__/a'], pseudonym))).toBe(
      `{"__proto__":{"a":"${pseudonym('1')}"}}`,
    );
  });
});

describe('masks of outputs', () => {
  const hiddenFile = {
    ...file,
    filename: pseudonym('cat.png'),
    subfolder: pseudonym('pets'),
    content_type: 'application/octet-stream',
    sha256: pseudonym(file.sha256).repeat(2),
  };
  it.each([
    ['/data/text/1', { data: { ...output.data, text: ['a cat', pseudonym('a dog')] } }],
    ['/data/text', { data: { ...output.data, text: [pseudonym('a cat'), pseudonym('a dog')] } }],
    ['/data/files/0', { data: { ...output.data, files: [hiddenFile] } }],
    ['/data', { data: { text: [pseudonym('a cat'), pseudonym('a dog')], files: [hiddenFile] } }],
    ['/node_meta', { node_meta: null }],
    ['/node_meta/title', { node_meta: { ...output.node_meta, title: pseudonym('Cats') } }],
    ['/node_meta/size/w', { node_meta: { title: 'Cats', size: { w: pseudonym('1') } } }],
  ])('%s replaces what it names, and the output matches its schema', (pointer, changed) => {
    const masked = maskedOutput(output, [pointer], pseudonym);
    expect(masked).toEqual({ ...output, ...changed });
    expect(compiledSchema(RunOutput).Check(masked)).toBe(true);
  });
});

describe('a list of masks', () => {
  const check = compiledSchema(Masks);

  it.each([
    [{}, true],
    [{ inputs: ['/prompt', '/a~1b/*'] }, true],
    [{ outputs: ['/data', '/data/text/0', '/node_meta/a/b/c'] }, true],
    [{ inputs: [''] }, false],
    [{ inputs: ['prompt'] }, false],
    [{ inputs: ['/a~2'] }, false],
    [{ outputs: ['/data/files/0/filename'] }, false],
    [{ outputs: ['/output_id'] }, false],
    [{ prompts: ['/prompt'] }, false],
    [{ inputs: Array.from({ length: 101 }, () => '/a') }, false],
  ])('%j is valid: %s', (masks, isValid) => {
    expect(check.Check(masks)).toBe(isValid);
  });
});
