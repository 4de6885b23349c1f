import { describe, expect, it } from 'vitest';
import { runnerKindOf, type Runner } from '../../src/catalogue/runners.ts';

const choiceOf = (runner: Runner) => runnerKindOf(runner).choiceOf(runner);

describe('the runner that a request chooses', () => {
  it.each<[Runner, Runner]>([
    [
      { program: 'render', kind: 'program' },
      { kind: 'program', program: 'render' },
    ],
    [{ kind: 'comfyui', url: null }, { kind: 'comfyui' }],
    [
      { url: 'http://gpu.example/', kind: 'comfyui' },
      { kind: 'comfyui', url: 'http://gpu.example/' },
    ],
    [
      { model: 'flux', kind: 'cog' },
      { kind: 'cog', model: 'flux' },
    ],
  ])('has the members of its kind in one order, without null: %j', (requested, choice) => {
    expect(JSON.stringify(choiceOf(requested))).toBe(JSON.stringify(choice));
    expect(JSON.stringify(choiceOf(Object.assign({ unknown: 1 }, requested)))).toBe(JSON.stringify(choice));
  });

  it('requires the program by its name, and another runner by a name that no program has', () => {
    const program = { kind: 'program', program: 'comfyui' } as const;
    expect(runnerKindOf(program).capability(program)).toBe('comfyui');
    expect(runnerKindOf({ kind: 'comfyui' }).capability({ kind: 'comfyui' })).toBe('runner:comfyui');
    const cog = { kind: 'cog', model: 'comfyui' } as const;
    expect(runnerKindOf(cog).capability(cog)).toBe('runner:cog:comfyui');
  });
});
