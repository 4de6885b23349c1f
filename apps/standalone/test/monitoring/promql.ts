import { parser } from '@prometheus-io/lezer-promql';

type Node = ReturnType<typeof parser.parse>['topNode'];

/** A metric of an expression, with the labels that select, group or match it. */
export interface UsedMetric {
  readonly metric: string;
  readonly labels: readonly string[];
}

/** Syntax nodes whose labels apply to everything inside. */
const GROUPINGS: ReadonlySet<string> = new Set(['AggregateModifier', 'MatchingModifierClause']);

/** @throws Error for invalid PromQL. Grafana's interval variables count as 5 minutes. */
export const metricsIn = (expression: string): UsedMetric[] => {
  const text = expression.replaceAll('$__rate_interval', '5m');
  const found: UsedMetric[] = [];
  visit(parser.parse(text).topNode, (node) => {
    if (node.type.isError) throw new Error(`No PromQL from character ${node.from} on: ${text}`);
    if (node.name !== 'VectorSelector') return;
    const name = node.getChild('Identifier');
    if (!name) throw new Error(`A selector that names no metric: ${text}`);
    const labels = [...labelsIn(node, text), ...around(node, text)];
    found.push({ metric: text.slice(name.from, name.to), labels: [...new Set(labels)] });
  });
  return found;
};

const visit = (node: Node, onNode: (node: Node) => void): void => {
  onNode(node);
  for (const child of children(node)) visit(child, onNode);
};

const children = (node: Node): Node[] => {
  const all: Node[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) all.push(child);
  return all;
};

const around = (node: Node, text: string): string[] => {
  const labels: string[] = [];
  for (let outer = node.parent; outer; outer = outer.parent) {
    const groupings = children(outer).filter(({ name }) => GROUPINGS.has(name));
    labels.push(...groupings.flatMap((grouping) => labelsIn(grouping, text)));
  }
  return labels;
};

const labelsIn = (node: Node, text: string): string[] => {
  const labels: string[] = [];
  visit(node, ({ name, from, to }) => {
    if (name === 'LabelName') labels.push(text.slice(from, to));
  });
  return labels;
};
