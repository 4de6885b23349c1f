import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Copy, DockerfileParser, PropertyInstruction } from 'dockerfile-ast';
import { ROOT } from './workspaces.ts';

export interface Step {
  /** In capitals, such as `COPY`. */
  readonly keyword: string;
  readonly words: readonly string[];
  readonly text: string;
  /** The stage or image that `COPY --from` names. */
  readonly from: string | undefined;
  /** The mode that `COPY --chmod` gives. */
  readonly chmod: string | undefined;
  /** The `NAME=value` of `ENV` and `LABEL`. */
  readonly values: Readonly<Record<string, string>>;
}

export interface Stage {
  readonly name: string | undefined;
  /** An image, or the name of an earlier stage; arguments are filled in. */
  readonly base: string;
  readonly steps: readonly Step[];
}

/** The stages of a Dockerfile, by its path in the repository. */
export const readDockerfile = (path: string): Stage[] => {
  const parsed = DockerfileParser.parse(readFileSync(join(ROOT, path), 'utf8'));
  const presets = new Map(
    parsed.getInitialARGs().map((arg) => {
      const property = arg.getProperty();
      return [property?.getName(), property?.getValue() ?? ''];
    }),
  );
  const stages: { name: string | undefined; base: string; steps: Step[] }[] = [];
  for (const instruction of parsed.getInstructions()) {
    const keyword = instruction.getKeyword();
    const words = instruction.getArguments().map((argument) => argument.getValue());
    if (keyword === 'FROM') {
      const [image = '', , name] = words;
      const base = image.replace(/^\$\{(\w+)\}$/, (_all, arg: string) => presets.get(arg) ?? '');
      stages.push({ name, base, steps: [] });
      continue;
    }
    const properties = instruction instanceof PropertyInstruction ? instruction.getProperties() : [];
    const values = Object.fromEntries(properties.map((each) => [each.getName(), each.getValue() ?? '']));
    const flags = instruction instanceof Copy ? instruction.getFlags() : [];
    const flag = (name: string): string | undefined =>
      flags.find((each) => each.getName() === name)?.getValue() ?? undefined;
    const text = instruction.getArgumentsContent() ?? '';
    const [from, chmod] = [flag('from'), flag('chmod')];
    stages.at(-1)?.steps.push({ keyword, words, text, from, chmod, values });
  }
  return stages;
};

/** The steps that build the image of a target, by default the last stage: those of its base stages, then its own. */
export const imageOf = (stages: readonly Stage[], target?: string): { base: string; steps: Step[] } => {
  const stage = target === undefined ? stages.at(-1) : stages.find(({ name }) => name === target);
  if (stage === undefined) throw new Error(`There is no stage ${target ?? ''}`);
  if (!stages.some(({ name }) => name === stage.base)) return { base: stage.base, steps: [...stage.steps] };
  const below = imageOf(stages, stage.base);
  return { base: below.base, steps: [...below.steps, ...stage.steps] };
};

/** The words of the last step of a kind in its exec form, `["node", "main.ts"]`; undefined for the shell form. */
export const execForm = (steps: readonly Step[], keyword: string): string[] | undefined => {
  const text = steps.findLast((step) => step.keyword === keyword)?.text ?? '';
  const list = /\[.*\]$/s.exec(text)?.[0];
  if (list === undefined) return undefined;
  const words: unknown = JSON.parse(list);
  return Array.isArray(words) ? words.map(String) : undefined;
};

/** All `NAME=value` of the steps of a kind, `ENV` or `LABEL`. */
export const valuesOf = (steps: readonly Step[], keyword: string): Record<string, string> =>
  Object.assign({}, ...steps.filter((step) => step.keyword === keyword).map(({ values }) => values));
