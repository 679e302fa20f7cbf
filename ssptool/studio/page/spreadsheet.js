// Cells that were copied in a spreadsheet. Nothing here touches the page.

const COLUMNS = ['name', 'value', 'unit'];

/**
 * The values in copied cells: `{name, value, unit}` of each row. A single column has the values of `names` from number
 * `first` on; several columns are name, value and unit, or what their heads say. Null: it is one cell, pasted as text.
 */
export function pastedValues(text, names, first) {
  const rows = text.replace(/\r\n?/g, '\n').replace(/\n+$/, '').split('\n').map(row => row.split('\t').map(cell => cell.trim()));
  if (rows.length === 1 && rows[0].length === 1) return null;
  if (rows.flat().some(cell => cell.startsWith('"'))) throw new Error('cells with quotation marks or line breaks cannot be pasted: set these values one by one');
  if (rows.every(row => row.length === 1)) {
    if (first + rows.length > names.length) throw new Error(`${rows.length} values were copied, and only ${names.length - first} rows are left in the table`);
    return rows.map(([value], k) => ({ name: names[first + k], value, unit: null })).filter(one => one.value);
  }
  const heads = rows[0].map(cell => cell.toLowerCase()), headed = heads.includes('name') && heads.includes('value');
  const [name, value, unit] = COLUMNS.map((column, k) => (headed ? heads.indexOf(column) : k));
  return rows.slice(headed ? 1 : 0).map(row => ({ name: row[name], value: row[value] || '', unit: row[unit] || null })).filter(one => one.name && one.value);
}
