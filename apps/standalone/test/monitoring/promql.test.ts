import { describe, expect, it } from 'vitest';
import { metricsIn } from './promql.ts';

describe('the metrics of an expression', () => {
  it('include the labels that select, group and match', () => {
    const expression =
      'histogram_quantile(0.9, sum by (le, gpu) (rate(wait_bucket{a=~"x|y",b!="z"}[$__rate_interval]))) > on (gpu) slots';
    expect(metricsIn(expression)).toEqual([
      { metric: 'wait_bucket', labels: ['a', 'b', 'le', 'gpu'] },
      { metric: 'slots', labels: ['gpu'] },
    ]);
    expect(metricsIn('(sum(a) by (b) or vector(0)) < 1 unless time() - c offset 5m > 2')).toEqual([
      { metric: 'a', labels: ['b'] },
      { metric: 'c', labels: [] },
    ]);
  });

  it.each(['sum by (a (b)', 'rate(a[])', '{a="b"}', 'a{b="c"'])('cannot be read from %s', (expression) => {
    expect(() => metricsIn(expression)).toThrow(/^No PromQL|^A selector/);
  });
});
