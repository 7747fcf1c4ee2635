import type { Figure } from "../workloads/workload.js";

/** 14070.3 as "14 070", or with the digits that the figure asks for. */
export function figureText(value: number, figure: Figure): string {
  const text = value.toFixed(figure.digits ?? 0);
  const [whole = "", rest] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, " ");
  return rest === undefined ? grouped : `${grouped}.${rest}`;
}

/** "rate, jobs/s" where there is a unit. */
export function withUnit(text: string, { unit }: Figure): string {
  return unit === "" ? text : `${text}, ${unit}`;
}
