/** Whether two subjects with wildcards match a common subject. */
export const subjectsOverlap = (one: string, other: string): boolean => {
  const [left, right] = [one.split('.'), other.split('.')];
  for (let at = 0; ; at += 1) {
    const [a, b] = [left[at], right[at]];
    if (a === undefined || b === undefined) return a === b;
    if (a === '>' || b === '>') return true;
    if (a !== b && a !== '*' && b !== '*') return false;
  }
};
