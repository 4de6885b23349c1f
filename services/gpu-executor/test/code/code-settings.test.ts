import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { codeRunnerType } from '../../src/runners/code/code-runner-type.ts';
import { settingsOf } from '../../src/runners/runner-registry.ts';
import { ORG_ID, OTHER_ORG_ID } from '../fixtures/isolations.ts';

type Settings = Parameters<typeof codeRunnerType.configure>[0];

const configure = (
  settings: Readonly<Record<string, unknown>>,
): ReturnType<typeof codeRunnerType.configure> => {
  const schema = Type.Object(settingsOf([codeRunnerType]));
  return codeRunnerType.configure(Value.Default(schema, { ...settings }) as Settings, { slots: [] });
};

describe('whose code an executor runs', () => {
  it.each([
    [{}, {}],
    [{ EXECUTOR_CODE: 'all' }, { programs: ['runner:code'], dedicated: {} }],
    [
      { EXECUTOR_CODE: `${ORG_ID}, ${OTHER_ORG_ID}` },
      { programs: ['runner:code'], dedicated: { 'runner:code': [ORG_ID, OTHER_ORG_ID] } },
    ],
  ])('%j offers %j', async (settings, capabilities) => {
    expect(await configure(settings)).toMatchObject({ capabilities });
  });

  it.each([
    [{ EXECUTOR_CODE: 'everybody' }, 'EXECUTOR_CODE'],
    [{ EXECUTOR_CODE: '' }, 'EXECUTOR_CODE'],
    [{ EXECUTOR_UV: 'uv' }, 'EXECUTOR_UV'],
    [{ EXECUTOR_PYTHON_INDEX: 'pypi' }, 'EXECUTOR_PYTHON_INDEX'],
    [{ EXECUTOR_WHEEL_HOUSE: '/no/such/folder' }, 'EXECUTOR_WHEEL_HOUSE'],
  ])('%j is refused', async (settings, variable) => {
    expect(await configure(settings)).toMatchObject({ problems: [{ variable }] });
  });
});
