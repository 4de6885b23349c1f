/** For each node, the nodes that it points to. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>;

interface Visit {
  readonly order: number;
  lowest: number;
}

/** The strongly connected components with more than one node, by Tarjan's algorithm. */
export const circlesIn = (graph: Graph): string[][] => {
  const visits = new Map<string, Visit>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (node: string): Visit => {
    const own: Visit = { order: visits.size, lowest: visits.size };
    visits.set(node, own);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      const seen = visits.get(next);
      if (seen === undefined) own.lowest = Math.min(own.lowest, visit(next).lowest);
      else if (stack.includes(next)) own.lowest = Math.min(own.lowest, seen.order);
    }
    if (own.lowest === own.order) {
      const component = stack.splice(stack.indexOf(node));
      if (component.length > 1) circles.push(component);
    }
    return own;
  };
  for (const node of graph.keys()) if (!visits.has(node)) visit(node);
  return circles;
};
