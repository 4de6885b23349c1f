/** A metric in Prometheus' text format. */
export interface ExposedMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  /** The labels of each sample, by its name. A histogram has three samples. */
  readonly samples: ReadonlyMap<string, ReadonlySet<string>>;
  readonly labelValues: ReadonlySet<string>;
}

export const readExposition = (page: string): ExposedMetric[] =>
  page
    .split(/^(?=# HELP )/m)
    .filter((block) => block.startsWith('# HELP '))
    .map(readBlock);

const readBlock = (block: string): ExposedMetric => {
  const [, name = '', help = ''] = /^# HELP (\S+) (.*)$/m.exec(block) ?? [];
  const [, type = ''] = /^# TYPE \S+ (\S+)$/m.exec(block) ?? [];
  const samples = new Map<string, Set<string>>();
  const labelValues = new Set<string>();
  for (const [, sample = '', inBraces = ''] of block.matchAll(/^([a-z_0-9]+)(?:\{(.*)\})? \S+$/gm)) {
    const labels = samples.get(sample) ?? new Set();
    samples.set(sample, labels);
    for (const [, label = '', value = ''] of inBraces.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      labels.add(label);
      labelValues.add(value);
    }
  }
  return { name, type, help, samples, labelValues };
};
